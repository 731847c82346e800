package main

import (
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

func main() {
	o := options{targets: targets, now: time.Now().UTC(), say: os.Stdout}
	flag.StringVar(&o.root, "root", "../..", "folder of the repository")
	flag.StringVar(&o.version, "version", "", "of the release, such as v0.2.0")
	flag.StringVar(&o.out, "out", "../../dist", "folder for what is built")
	flag.StringVar(&o.check, "check", "bash .ci/run", "command that must succeed in a clone of what is released")
	flag.BoolVar(&o.publish, "publish", false, "make the commit and the tags in the repository")
	proxy := flag.String("proxy", "", "folder to write what a proxy of modules would serve; nothing else is done")
	flag.Parse()
	err := validate(o.version)
	if err == nil && *proxy != "" {
		err = o.serve(*proxy)
	} else if err == nil {
		err = o.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// options are how a release is made.
type options struct {
	root, version, out, check string
	publish                   bool
	targets                   []string
	now                       time.Time // the date in the changelog
	say                       io.Writer
}

// validate returns an error unless all modules can have the version.
func validate(version string) error {
	switch {
	case semver.Canonical(version) != version || version == "":
		return fmt.Errorf("-version is %q; give a version such as v0.2.0", version)
	case semver.Compare(version, "v2") >= 0:
		return fmt.Errorf("-version is %s, and the paths of the modules do not end in /%[2]s; give a version below v2", version, semver.Major(version))
	}
	return nil
}

// serve writes what a proxy of modules would serve of the files as they are.
func (o *options) serve(proxy string) error {
	all, err := release(o.root, o.version)
	if err != nil {
		return err
	}
	files, err := sources(o.root)
	if err != nil {
		return err
	}
	return writeProxy(proxy, o.root, all, files)
}

// run makes the release in a clone of the repository. Only publish changes the repository itself.
func (o *options) run() error {
	here := repository(o.root)
	if err := here.refuse(o.version); err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "recount-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }() // a folder that stays does no harm
	clone, err := here.clone(filepath.Join(temp, "recount"))
	if err != nil {
		return err
	}
	b := builder{version: o.version, targets: o.targets, clone: clone, temp: temp, out: filepath.Join(o.out, o.version)}
	if b.time, err = clone.time(); err != nil {
		return err
	}
	notes, err := clone.commit(o.version, o.now)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.say, "changes   %d entries of CHANGELOG.md\n", entries(notes))
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(b.out+"-notes.md", []byte(notes), 0o644); err != nil {
		return err
	}
	if err := o.checks(clone); err != nil {
		return err
	}
	tags, err := clone.tag(o.version)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.say, "tags      %s\n", strings.Join(tags, " "))
	made, err := b.build()
	if err != nil {
		return err
	}
	fmt.Fprintf(o.say, "built     %d files in %s\n", len(made), b.out)
	if !o.publish {
		fmt.Fprintf(o.say, "dry       nothing else was changed; to publish: make release VERSION=%s PUBLISH=1\n", o.version)
		return nil
	}
	branch, err := here.take(clone, tags)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.say, "published in this clone; now run:\n  git push --atomic origin %s %s\n  gh release create %s --verify-tag --notes-file %s %s\n",
		branch, strings.Join(tags, " "), o.version, b.out+"-notes.md", filepath.Join(b.out, "*"))
	return nil
}

// checks runs the command that must succeed in the clone, and keeps what it prints.
func (o *options) checks(clone repository) error {
	log, err := os.Create(filepath.Join(o.out, o.version+"-checks.log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // an unwritten line of it is no reason to release or not
	began := time.Now()
	cmd := exec.Command("sh", "-c", o.check)
	cmd.Dir, cmd.Stdout, cmd.Stderr = string(clone), log, log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w; see %s", o.check, err, log.Name())
	}
	fmt.Fprintf(o.say, "checks    %s: passed in %v\n", o.check, time.Since(began).Round(time.Second))
	return nil
}

// sources are the files of the repository, but for hidden folders and what programs make.
func sources(root string) (files []string, err error) {
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		switch {
		case entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "bin" || name == "dist" || name == "recount-runs"):
			return fs.SkipDir
		case entry.Type().IsRegular():
			relative, err := filepath.Rel(root, path)
			files = append(files, filepath.ToSlash(relative))
			return err
		}
		return nil
	})
	return files, err
}

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// repository is the folder of a clone.
type repository string

// git runs git in the repository and returns what it prints.
func (r repository) git(args ...string) (string, error) {
	var said bytes.Buffer
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stderr = string(r), &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// refuse returns an error if what the repository has cannot be released as the version.
func (r repository) refuse(version string) error {
	changed, err := r.git("status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		first, _, _ := strings.Cut(changed, "\n")
		return fmt.Errorf("the tree is not clean (%s); commit or remove what is not committed", first)
	}
	tags, err := r.git("tag", "--list")
	if err != nil {
		return err
	}
	for tag := range strings.FieldsSeq(tags) {
		if last := path.Base(tag); semver.IsValid(last) && semver.Compare(version, last) <= 0 {
			return fmt.Errorf("-version is %s, and there is the tag %s already; give a larger version", version, tag)
		}
	}
	return nil
}

// clone clones the repository into the folder, with the identity that commits there.
func (r repository) clone(dir string) (repository, error) {
	from, err := filepath.Abs(string(r))
	if err != nil {
		return "", err
	}
	if _, err := r.git("clone", "--quiet", from, dir); err != nil {
		return "", err
	}
	c := repository(dir)
	for _, key := range []string{"user.name", "user.email"} {
		value, err := r.git("config", key)
		if err != nil {
			return "", fmt.Errorf("nobody can commit the release: %w; set it with git config", err)
		}
		if _, err := c.git("config", key, value); err != nil {
			return "", err
		}
	}
	return c, nil
}

// time is that of the last commit.
func (r repository) time() (time.Time, error) {
	text, err := r.git("log", "-1", "--format=%cI")
	if err != nil {
		return time.Time{}, err
	}
	at, err := time.Parse(time.RFC3339, text)
	return at.UTC(), err
}

// action is where documents name the version of the action.
var action = regexp.MustCompile(`(recount-io/recount/deploy/action)@v[0-9][^\s` + "`" + `]*`)

// commit writes the version into every file that names it, commits them, and returns the
// section of the changelog.
func (r repository) commit(version string, now time.Time) (notes string, err error) {
	edits := []struct {
		files []string // patterns of git
		edit  func(name string, text []byte) ([]byte, error)
	}{
		{[]string{"*go.mod"}, func(name string, text []byte) ([]byte, error) {
			f, err := modfile.Parse(name, text, nil)
			if err != nil {
				return nil, err
			}
			if err := askFor(f, version); err != nil {
				return nil, err
			}
			return f.Format()
		}},
		{[]string{"*go.work"}, func(name string, text []byte) ([]byte, error) { return replaceAt(name, text, version) }},
		{[]string{"*.md", "*.yml", ":!CHANGELOG.md"}, func(_ string, text []byte) ([]byte, error) {
			return action.ReplaceAll(text, []byte("${1}@"+version)), nil
		}},
		{[]string{"CHANGELOG.md"}, func(_ string, text []byte) (changed []byte, err error) {
			changed, notes, err = dated(text, version, now)
			return changed, err
		}},
	}
	for _, e := range edits {
		list, err := r.git(append([]string{"ls-files", "--"}, e.files...)...)
		if err != nil {
			return "", err
		}
		for name := range strings.SplitSeq(list, "\n") {
			file := filepath.Join(string(r), name)
			text, err := os.ReadFile(file)
			if err != nil {
				return "", err
			}
			if text, err = e.edit(name, text); err != nil {
				return "", fmt.Errorf("%s: %w", name, err)
			}
			if err := os.WriteFile(file, text, 0o644); err != nil {
				return "", err
			}
		}
	}
	_, err = r.git("commit", "--quiet", "--all", "--message", "release: "+version)
	return notes, err
}

// tag tags each module of the last commit, and returns the tags: a module's comes after those
// of the modules that it asks for.
func (r repository) tag(version string) ([]string, error) {
	all, err := release(string(r), version)
	if err != nil {
		return nil, err
	}
	var tags []string
	for _, m := range inOrder(all) {
		tag := path.Join(m.folder, version)
		if _, err := r.git("tag", "--annotate", "--message", m.at.Path+" "+version, tag); err != nil {
			return nil, err
		}
		tags = append(tags, tag)
	}
	return tags, nil
}

// take takes the commit and the tags of a clone, and returns the branch that has them.
func (r repository) take(clone repository, tags []string) (branch string, err error) {
	if branch, err = r.git("symbolic-ref", "--short", "HEAD"); err != nil {
		return "", fmt.Errorf("no branch is checked out: %w", err)
	}
	if _, err := r.git("fetch", "--quiet", "--no-tags", string(clone), "HEAD"); err != nil {
		return "", err
	}
	if _, err := r.git("merge", "--quiet", "--ff-only", "FETCH_HEAD"); err != nil {
		return "", fmt.Errorf("the repository was changed while the release was made: %w", err)
	}
	fetch := []string{"fetch", "--quiet", "--no-tags", string(clone)}
	for _, tag := range tags {
		fetch = append(fetch, "refs/tags/"+tag+":refs/tags/"+tag)
	}
	_, err = r.git(fetch...)
	return branch, err
}

// askFor makes a go.mod ask for our modules at the version.
func askFor(f *modfile.File, version string) error {
	for _, r := range slices.Clone(f.Require) {
		if ours(r.Mod.Path) {
			if err := f.AddRequire(r.Mod.Path, version); err != nil {
				return err
			}
		}
	}
	return nil
}

// replaceAt makes a go.work replace our modules at the version.
func replaceAt(name string, text []byte, version string) ([]byte, error) {
	work, err := modfile.ParseWork(name, text, nil)
	if err != nil {
		return nil, err
	}
	for _, r := range work.Replace {
		for i, word := range r.Syntax.Token {
			if ours(r.Old.Path) && r.Old.Version != "" && word == r.Old.Version {
				r.Syntax.Token[i] = version
			}
		}
	}
	return modfile.Format(work.Syntax), nil
}

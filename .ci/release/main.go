// Release makes releases of all modules together: each asks for the others at the version of
// the release.
//
//	go run . -version v0.2.0 -proxy DIR    what a proxy of modules would serve, into a folder
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/semver"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run() error {
	root := flag.String("root", "../..", "folder of the repository")
	version := flag.String("version", "", "of the release, such as v0.2.0")
	proxy := flag.String("proxy", "", "folder to write what a proxy of modules would serve")
	flag.Parse()
	switch {
	case semver.Canonical(*version) != *version || *version == "":
		return fmt.Errorf("-version is %q; give a version such as v0.2.0", *version)
	case *proxy == "":
		return errors.New("give -proxy and a folder")
	}
	all, err := release(*root, *version)
	if err != nil {
		return err
	}
	files, err := sources(*root)
	if err != nil {
		return err
	}
	return writeProxy(*proxy, *root, all, files)
}

// sources are the files of the repository, but for hidden folders and what programs make.
func sources(root string) (files []string, err error) {
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		switch {
		case entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "bin" || name == "recount-runs"):
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

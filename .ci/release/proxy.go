package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// released is one of our modules as it is published.
type released struct {
	at     module.Version
	folder string   // "." or below
	asks   []string // modules of ours that it requires
	goMod  []byte   // with the version of the release in place of the one that stands there
}

// name is ours of every module, or what every name begins with.
const name = "github.com/recount-io/recount"

// heavy are published, and not in the workspace, which would have to compile what they need.
var heavy = []string{"elector/kubelock"}

// release reads the modules of the workspace and the heavy ones, as the version. It returns an
// error if one of them has what no published module may have.
func release(root, version string) ([]released, error) {
	text, err := os.ReadFile(filepath.Join(root, "go.work"))
	if err != nil {
		return nil, err
	}
	work, err := modfile.ParseWork("go.work", text, nil)
	if err != nil {
		return nil, err
	}
	folders := heavy
	for _, use := range work.Use {
		folders = append(folders, path.Clean(use.Path))
	}
	var all []released
	for _, folder := range folders {
		m := released{folder: folder}
		file := filepath.Join(root, m.folder, "go.mod")
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		f, err := modfile.Parse(file, text, nil)
		if err != nil {
			return nil, err
		}
		if len(f.Replace)+len(f.Exclude) > 0 {
			return nil, fmt.Errorf("%s: a published module must not replace or exclude any other: nobody could install its programs", file)
		}
		m.at = module.Version{Path: f.Module.Mod.Path, Version: version}
		if want := path.Join(name, m.folder); m.at.Path != want {
			return nil, fmt.Errorf("%s: the module is called %s, want %s", file, m.at.Path, want)
		}
		for _, r := range f.Require {
			if ours(r.Mod.Path) {
				m.asks = append(m.asks, r.Mod.Path)
			}
		}
		if err := askFor(f, version); err != nil {
			return nil, err
		}
		if m.goMod, err = f.Format(); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// inOrder sorts modules: each comes after those that it requires. Modules that require each
// other stay in the order of the workspace.
func inOrder(all []released) []released {
	var sorted []released
	seen := map[string]bool{}
	var add func(modulePath string)
	add = func(modulePath string) {
		for _, m := range all {
			if m.at.Path == modulePath && !seen[modulePath] {
				seen[modulePath] = true
				for _, asked := range m.asks {
					add(asked)
				}
				sorted = append(sorted, m)
			}
		}
	}
	for _, m := range all {
		add(m.at.Path)
	}
	return sorted
}

func ours(modulePath string) bool {
	return modulePath == name || strings.HasPrefix(modulePath, name+"/")
}

// writeProxy writes what a proxy of modules serves from a folder: see the reference of Go
// modules, "GOPROXY protocol".
func writeProxy(dir, root string, all []released, files []string) error {
	for _, m := range all {
		escaped, err := module.EscapePath(m.at.Path)
		if err != nil {
			return err
		}
		folder := filepath.Join(dir, escaped, "@v")
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		info, err := json.Marshal(map[string]any{"Version": m.at.Version, "Time": time.Unix(0, 0).UTC()})
		if err != nil {
			return err
		}
		var archive bytes.Buffer
		if err := zip.Create(&archive, m.at, m.files(root, files, all)); err != nil {
			return fmt.Errorf("%s: %w", m.at.Path, err)
		}
		for name, content := range map[string][]byte{"list": []byte(m.at.Version + "\n"), m.at.Version + ".info": info, m.at.Version + ".mod": m.goMod, m.at.Version + ".zip": archive.Bytes()} {
			if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// files are those of the module, of all in the repository.
func (m *released) files(root string, all []string, modules []released) []zip.File {
	var list []zip.File
	for _, file := range all {
		if owner(file, modules) != m.folder {
			continue
		}
		in := strings.TrimPrefix(file, m.folder+"/")
		if in == "go.mod" {
			list = append(list, entry{path: in, content: m.goMod})
		} else {
			list = append(list, entry{path: in, disk: filepath.Join(root, file)})
		}
	}
	return list
}

// owner is the folder of the module that a file belongs to. Modules that are not published
// are left out by zip.Create, which finds their go.mod.
func owner(file string, modules []released) string {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		for _, m := range modules {
			if m.folder == dir {
				return dir
			}
		}
		if dir == "." {
			return dir
		}
	}
}

// entry is a file of an archive.
type entry struct {
	path, disk string
	content    []byte // of one that is not on disk as it is published
}

// Path implements zip.File.
func (e entry) Path() string { return e.path }

// Lstat implements zip.File.
func (e entry) Lstat() (os.FileInfo, error) {
	if e.disk != "" {
		return os.Lstat(e.disk)
	}
	return inMemory{e}, nil
}

// Open implements zip.File.
func (e entry) Open() (io.ReadCloser, error) {
	if e.disk != "" {
		return os.Open(e.disk)
	}
	return io.NopCloser(bytes.NewReader(e.content)), nil
}

// inMemory is what Lstat says of a file that is not on disk.
type inMemory struct{ entry }

// Name implements os.FileInfo.
func (f inMemory) Name() string { return path.Base(f.path) }

// Size implements os.FileInfo.
func (f inMemory) Size() int64 { return int64(len(f.content)) }

// Mode implements os.FileInfo.
func (inMemory) Mode() os.FileMode { return 0o644 }

// ModTime implements os.FileInfo.
func (inMemory) ModTime() time.Time { return time.Time{} }

// IsDir implements os.FileInfo.
func (inMemory) IsDir() bool { return false }

// Sys implements os.FileInfo.
func (inMemory) Sys() any { return nil }

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// programs are the commands of a release, and targets the systems and machines that they are
// built for. Neither command compiles for Windows: both end processes as Unix does.
var (
	programs = []string{"chaos", "elect"}
	targets  = []string{"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64"}
)

// builder builds what a release offers for download.
type builder struct {
	version string
	clone   repository // with the tags of the release
	temp    string     // folder for what Go needs
	out     string     // folder that gets the files, and nothing else
	targets []string   // such as "linux/amd64"
	time    time.Time  // of every file in an archive
}

// archive is a program for one system and kind of machine, packed.
type archive struct {
	file, sum string
	info      *debug.BuildInfo
}

// build builds all files and returns their names.
func (b *builder) build() (made []string, err error) {
	if err := errors.Join(os.RemoveAll(b.out), os.MkdirAll(b.out, 0o755)); err != nil {
		return nil, err
	}
	environment, err := b.environment()
	if err != nil {
		return nil, err
	}
	var archives []archive
	for _, target := range b.targets {
		system, machine, _ := strings.Cut(target, "/")
		more, err := b.target(environment, system, machine)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", target, err)
		}
		archives = append(archives, more...)
	}
	files := map[string][]byte{}
	for _, p := range programs {
		files[p+".Dockerfile"] = recipe(p, b.version)
	}
	if files["recount_"+b.version+".cdx.json"], err = writeBOM(b.version, b.time, archives); err != nil {
		return nil, err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(b.out, name), content, 0o644); err != nil {
			return nil, err
		}
	}
	return b.sums()
}

// environment is that of a Go which takes our modules from the tags of the clone, as everybody
// will take them from the public repository, and keeps no module of this version afterwards.
func (b *builder) environment() ([]string, error) {
	out, err := exec.Command("go", "env", "GOPROXY", "GOMODCACHE", "GONOPROXY", "GONOSUMDB").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	env := strings.Split(string(out), "\n")
	also := func(patterns string) string { return strings.Trim(patterns+","+name, ",") }
	return append(os.Environ(),
		"GOWORK=off", "GOFLAGS=-modcacherw", "CGO_ENABLED=0", "GOBIN=",
		"GOPATH="+filepath.Join(b.temp, "go"), "GOMODCACHE="+filepath.Join(b.temp, "modules"),
		"GOPROXY=file://"+filepath.ToSlash(filepath.Join(env[1], "cache", "download"))+","+env[0],
		"GONOPROXY="+also(env[2]), "GONOSUMDB="+also(env[3]),
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url."+string(b.clone)+".insteadOf", "GIT_CONFIG_VALUE_0=https://"+name,
	), nil
}

// target builds and packs the programs for one system and kind of machine.
func (b *builder) target(environment []string, system, machine string) (archives []archive, err error) {
	args := []string{"install", "-trimpath", "-ldflags=-s -w"}
	for _, p := range programs {
		args = append(args, name+"/cmd/"+p+"@"+b.version)
	}
	install := exec.Command("go", args...)
	install.Dir, install.Env = b.temp, append(slices.Clone(environment), "GOOS="+system, "GOARCH="+machine)
	if out, err := install.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	bin := filepath.Join(b.temp, "go", "bin")
	if system != runtime.GOOS || machine != runtime.GOARCH {
		bin = filepath.Join(bin, system+"_"+machine)
	}
	license, err := os.ReadFile(filepath.Join(string(b.clone), "LICENSE"))
	if err != nil {
		return nil, err
	}
	for _, p := range programs {
		binary, err := os.ReadFile(filepath.Join(bin, p))
		if err != nil {
			return nil, err
		}
		a := archive{file: strings.Join([]string{p, b.version, system, machine}, "_") + ".tar.gz"}
		if a.info, err = buildinfo.Read(bytes.NewReader(binary)); err != nil {
			return nil, err
		}
		if got := a.info.Main.Version; got != b.version {
			return nil, fmt.Errorf("%s says that it is %s, want %s", p, got, b.version)
		}
		var packed bytes.Buffer
		if err := pack(&packed, b.time, []member{{"LICENSE", 0o644, license}, {p, 0o755, binary}}); err != nil {
			return nil, err
		}
		a.sum = fmt.Sprintf("%x", sha256.Sum256(packed.Bytes()))
		if err := os.WriteFile(filepath.Join(b.out, a.file), packed.Bytes(), 0o644); err != nil {
			return nil, err
		}
		archives = append(archives, a)
	}
	return archives, nil
}

// sums writes SHA256SUMS and returns the names of all files.
func (b *builder) sums() (made []string, err error) {
	files, err := os.ReadDir(b.out) // sorted
	if err != nil {
		return nil, err
	}
	var sums bytes.Buffer
	for _, f := range files {
		content, err := os.ReadFile(filepath.Join(b.out, f.Name()))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), f.Name())
		made = append(made, f.Name())
	}
	const list = "SHA256SUMS"
	return append(made, list), os.WriteFile(filepath.Join(b.out, list), sums.Bytes(), 0o644)
}

// member is a file of an archive.
type member struct {
	name    string
	mode    os.FileMode
	content []byte
}

func pack(to io.Writer, at time.Time, members []member) error {
	zipped := gzip.NewWriter(to)
	w := tar.NewWriter(zipped)
	for _, m := range members {
		if err := w.WriteHeader(&tar.Header{Name: m.name, Mode: int64(m.mode), Size: int64(len(m.content)), ModTime: at}); err != nil {
			return err
		}
		if _, err := w.Write(m.content); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), zipped.Close())
}

// recipe is that of an image with nothing but the released program in it.
func recipe(program, version string) []byte {
	return fmt.Appendf(nil, `# %[1]s %[2]s alone, in an image of nothing else. Build it in the folder of the released files, after
# "sha256sum --check --ignore-missing SHA256SUMS":
#
#   docker buildx build --platform linux/amd64,linux/arm64 -f %[1]s.Dockerfile -t %[1]s:%[2]s .
FROM alpine:3 AS certificates

FROM scratch
ARG TARGETARCH
# For stores with TLS.
COPY --from=certificates /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
# ADD unpacks it: the program, and the license.
ADD %[1]s_%[2]s_linux_${TARGETARCH}.tar.gz /
# Nobody in particular: %[1]s needs no right.
USER 65534:65534
ENTRYPOINT ["/%[1]s"]
`, program, version)
}

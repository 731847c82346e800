package docker

import (
	"archive/tar"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/recount-io/recount/sim/live/supervisor"
)

// pullTime bounds how long an image may take to come.
const pullTime = 3 * time.Minute

// ErrNoImage says that an image is not here and cannot be pulled.
var ErrNoImage = errors.New("docker: the image is not here and cannot be pulled")

// Need sees to it that there is an image: it is pulled where it is not here. The error
// is an ErrNoImage, or an ErrNoAnswer.
func (e *Engine) Need(ctx context.Context, image string) error {
	_, err := e.api().ImageInspect(ctx, image)
	if err == nil {
		return nil
	}
	if !errdefs.IsNotFound(err) {
		return fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	ctx, cancel := context.WithTimeout(ctx, pullTime)
	defer cancel()
	if err := e.provider.PullImage(ctx, image); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrNoImage, image, err)
	}
	return nil
}

// program is where the program of an image stands.
const program = "/program"

// Import makes an image of nothing but one program of this machine, with the libraries
// that it loads, and returns its name. Nothing is pulled, and none of Docker's builders
// is needed.
func (e *Engine) Import(ctx context.Context, path string) (name string, err error) {
	libraries, err := loads(ctx, path)
	if err != nil {
		return "", err
	}
	name = supervisor.Name("image")
	if err := e.supervisor.Image(name); err != nil {
		return "", err
	}
	read, write := io.Pipe()
	go func() { write.CloseWithError(pack(write, path, libraries)) }()
	made, err := e.api().ImageImport(ctx, client.ImageImportSource{Source: read, SourceName: "-"}, name,
		client.ImageImportOptions{Changes: []string{
			"ENTRYPOINT [\"" + program + "\"]", "LABEL " + Label + "=" + labels()[Label],
		}})
	if err == nil {
		_, err = io.Copy(io.Discard, made)
		err = errors.Join(err, made.Close())
	}
	_ = read.Close() // lets pack end, if nobody read all of it
	if err != nil {
		err = fmt.Errorf("docker: cannot make an image of %s: %w", path, err)
		return "", errors.Join(err, e.RemoveImage(context.WithoutCancel(ctx), name))
	}
	return name, nil
}

// RemoveImage removes an image that Import has made, which no container has any more.
func (e *Engine) RemoveImage(ctx context.Context, name string) error {
	_, err := e.api().ImageRemove(ctx, name, client.ImageRemoveOptions{Force: true, PruneChildren: true})
	if err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("docker: cannot remove image %s: %w", name, err)
	}
	return e.supervisor.ForgetImage(name)
}

// pack writes the files of an image.
func pack(w io.Writer, path string, libraries []string) error {
	files := tar.NewWriter(w)
	add := func(name, from string) error {
		f, err := os.Open(from)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // only read
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if err := files.WriteHeader(&tar.Header{Name: strings.TrimPrefix(name, "/"), Mode: 0o755, Size: info.Size(), Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		_, err = io.Copy(files, f)
		return err
	}
	if err := add(program, path); err != nil {
		return err
	}
	for _, library := range libraries {
		if err := add(library, library); err != nil {
			return err
		}
	}
	if err := files.WriteHeader(&tar.Header{Name: "tmp/", Mode: 0o1777, Typeflag: tar.TypeDir}); err != nil {
		return err
	}
	return files.Close()
}

// libraryPath is what a loader says of a file that it loads.
var libraryPath = regexp.MustCompile(`(?m)(/\S+) \(0x`)

// loads are the files that a program of Linux loads, its loader among them; none for
// one that was linked for itself.
func loads(ctx context.Context, path string) ([]string, error) {
	file, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("docker: %s is no program of Linux's: %w", path, err)
	}
	defer func() { _ = file.Close() }() // only read
	for _, part := range file.Progs {
		if part.Type != elf.PT_INTERP {
			continue
		}
		name, err := io.ReadAll(part.Open())
		if err != nil {
			return nil, fmt.Errorf("docker: %s: %w", path, err)
		}
		loader := strings.TrimRight(string(name), "\x00")
		said, err := exec.CommandContext(ctx, loader, "--list", path).Output()
		if err != nil {
			return nil, fmt.Errorf("docker: cannot tell what %s loads: build it with CGO_ENABLED=0: %w", path, err)
		}
		all := []string{loader}
		for _, found := range libraryPath.FindAllStringSubmatch(string(said), -1) {
			if found[1] != loader {
				all = append(all, found[1])
			}
		}
		return all, nil
	}
	return nil, nil
}

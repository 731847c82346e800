package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/recount-io/recount/cmd/internal/usage"
)

// part makes what stands between a mark of a Markdown file and the next endMark, from what
// stood there before.
type part func(before []byte) []byte

// endMark ends what a command writes into a Markdown file.
const endMark = "<!-- end -->"

// update writes the parts anew for which a Markdown file has marks.
func update(path string, parts map[string]part) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return usage.Of(fmt.Errorf("--update: %w", err))
	}
	updated, err := withParts(text, parts)
	if err != nil {
		return usage.Of(fmt.Errorf("--update: %s: %w", path, err))
	}
	if bytes.Equal(updated, text) {
		return nil
	}
	if err := os.WriteFile(path, updated, 0o644); err != nil {
		return fmt.Errorf("--update: %w", err)
	}
	return nil
}

// updatable refuses a file of --update that cannot be written in the end, before
// anything is started.
func updatable(paths []string, rewrite func(text []byte) error) error {
	for _, path := range paths {
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return fmt.Errorf("--update: %w", err)
		}
		text, err := io.ReadAll(file)
		if err = errors.Join(err, file.Close()); err != nil {
			return fmt.Errorf("--update: %w", err)
		}
		if err := rewrite(text); err != nil {
			return fmt.Errorf("--update: %s: %w", path, err)
		}
	}
	return nil
}

// into is for updatable: the error of writing the parts into a text.
func into(parts map[string]part) func(text []byte) error {
	return func(text []byte) error {
		_, err := withParts(text, parts)
		return err
	}
}

// withParts replaces what stands between the marks.
func withParts(text []byte, parts map[string]part) ([]byte, error) {
	found := false
	marks := slices.Sorted(maps.Keys(parts))
	for _, mark := range marks {
		before, rest, has := bytes.Cut(text, []byte(mark))
		if !has {
			continue
		}
		inside, after, ends := bytes.Cut(rest, []byte(endMark))
		if !ends {
			return nil, fmt.Errorf("no %s follows %s: add one where the table is to end", endMark, mark)
		}
		found = true
		text = slices.Concat(before, []byte(mark+"\n\n"), parts[mark](inside), []byte("\n"+endMark), after)
	}
	if !found {
		return nil, fmt.Errorf("there is no line %s: add one, and %s below it, where the table is to stand", strings.Join(marks, " or "), endMark)
	}
	return text, nil
}

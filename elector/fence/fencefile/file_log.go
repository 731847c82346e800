package fencefile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strconv"
)

// MaxLine is the largest number of bytes in a line of a log.
const MaxLine = 1 << 20

// maxRecord is a line as it is in the file: the token, a space, the checksum in
// hexadecimal, a space, the data, and the line's end.
const maxRecord = 20 + 1 + 8 + 1 + MaxLine + 1

// Errors of a log.
var (
	// ErrTorn is how a log ends whose last line was not written to its end,
	// or not yet. It was not acknowledged; the next Append removes it.
	ErrTorn = errors.New("fencefile: the last line is torn")

	// ErrDamaged is a line that is complete, and not what Append wrote.
	ErrDamaged = errors.New("fencefile: the log is damaged")
)

// Line is a line of a log.
type Line struct {
	Token uint64 // of the term in which it was written
	Data  []byte
}

// Append adds a line to the log if no larger token was seen, and returns when
// it is on the disk. In the file, the line is preceded by its token and a
// checksum: "34 1c291ca3 data". Tokens never decrease from line to line. The
// data must not contain a line's end.
//
// The line was not written if the error is a *fence.StaleError or fence.ErrNoToken, or if
// ctx was done before the lock was had. After any other error it may have been
// written; a file that Append has not begun is an error, too, and stays as it
// is, and so does a log whose last line is complete but wrong (ErrDamaged).
func (f File) Append(ctx context.Context, token uint64, line []byte) error {
	if len(line) > MaxLine || bytes.IndexByte(line, '\n') >= 0 {
		return fmt.Errorf("fencefile: %d bytes cannot be a line of %s: it has at most %d bytes, and no line's end in it", len(line), f.Path, MaxLine)
	}
	return f.locked(ctx, token, logKind, func() error {
		return f.append(record(token, line))
	})
}

// append writes at the end of the last good line, over what may be torn there: of the
// file that it has opened, whatever is at the path meanwhile.
func (f File) append(record []byte) error {
	file, err := f.openOrMake(f.Path)
	if err != nil {
		return fmt.Errorf("fencefile: the log cannot be opened: %w", err)
	}
	last, err := f.tailOf(file)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	err = f.appendTo(file, last.end, record)
	if err != nil {
		// What was not acknowledged should not be found later; if this fails,
		// too, it may be.
		_ = file.Truncate(last.end)
	}
	err = errors.Join(err, file.Close())
	if err == nil && last.end == 0 { // it may be a new name
		err = f.syncFolder(filepath.Dir(f.Path))
	}
	if err != nil {
		return fmt.Errorf("fencefile: whether the line is in %s is unknown: %w", f.Path, err)
	}
	return nil
}

func (f File) appendTo(file handle, end int64, record []byte) error {
	if err := file.Truncate(end); err != nil {
		return err
	}
	if _, err := file.WriteAt(record, end); err != nil {
		return err
	}
	return file.Sync()
}

// Lines reads the log from its beginning, without a lock. A line may be used
// after the loop. The last error, if any, ends the loop: ErrTorn if the log
// ends in the middle of a line, which may also be one that is being written
// just now, and ErrDamaged, both wrapped. A log that does not exist is empty.
func (f File) Lines() iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		file, err := f.on().open(f.Path, os.O_RDONLY, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(Line{}, fmt.Errorf("fencefile: the log cannot be read: %w", err))
			return
		}
		defer func() { _ = file.Close() }() // it was only read
		for line, err := range readLines(file) {
			if err != nil {
				err = fmt.Errorf("%s: %w", f.Path, err)
			}
			if !yield(line, err) {
				return
			}
		}
	}
}

func readLines(from io.Reader) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		reader := bufio.NewReaderSize(from, 1<<16)
		highest := uint64(0)
		for n := 1; ; n++ {
			record, err := reader.ReadBytes('\n')
			if errors.Is(err, io.EOF) {
				if len(record) > 0 {
					yield(Line{}, fmt.Errorf("%w: line %d, %d bytes", ErrTorn, n, len(record)))
				}
				return
			}
			line, ok := parseRecord(record)
			switch {
			case err != nil:
				err = fmt.Errorf("fencefile: the log cannot be read further than line %d: %w", n-1, err)
			case !ok:
				err = fmt.Errorf("%w: line %d is not what was written", ErrDamaged, n)
			case line.Token < highest:
				err = fmt.Errorf("%w: line %d has token %d, after token %d", ErrDamaged, n, line.Token, highest)
			}
			if highest = line.Token; !yield(line, err) || err != nil {
				return
			}
		}
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// record is a line as it is in the file. The checksum is of all the rest.
func record(token uint64, data []byte) []byte {
	text := strconv.FormatUint(token, 10)
	sum := crc32.Update(crc32.Checksum([]byte(text+" "), castagnoli), castagnoli, data)
	out := fmt.Appendf(make([]byte, 0, len(data)+32), "%s %08x ", text, sum)
	return append(append(out, data...), '\n')
}

// parseRecord accepts exactly what record makes.
func parseRecord(r []byte) (Line, bool) {
	digits, rest, _ := bytes.Cut(r, []byte(" "))
	token, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil || token == 0 || len(rest) < 10 {
		return Line{}, false
	}
	line := Line{token, rest[9 : len(rest)-1]}
	return line, bytes.Equal(record(token, line.Data), r)
}

// tail is the end of a log.
type tail struct {
	line Line  // the last good one; token 0 if there is none
	end  int64 // where it ends
}

// tail is the end of the log that is at the path; one that does not exist is empty.
func (f File) tail(lock handle) (tail, error) {
	file, err := f.existing(lock, f.Path)
	if err != nil {
		return tail{}, fmt.Errorf("fencefile: the log cannot be read: %w", err)
	}
	if file == nil {
		return tail{}, nil
	}
	defer func() { _ = file.Close() }() // it was only read
	return f.tailOf(file)
}

// tailOf finds the last good line: the last one, or the one before a torn one.
func (f File) tailOf(file handle) (tail, error) {
	info, err := file.Stat()
	if err != nil {
		return tail{}, fmt.Errorf("fencefile: the log cannot be read: %w", err)
	}
	for window := int64(4096); ; window *= 8 {
		start := max(0, info.Size()-window)
		content := make([]byte, info.Size()-start)
		if _, err := file.ReadAt(content, start); err != nil {
			return tail{}, fmt.Errorf("fencefile: the end of %s cannot be read: %w", f.Path, err)
		}
		end := bytes.LastIndexByte(content, '\n') + 1
		begin := 0
		if end > 0 {
			begin = bytes.LastIndexByte(content[:end-1], '\n') + 1
		}
		if start > 0 && begin == 0 && window <= 2*maxRecord {
			continue // the line began before
		}
		return f.tailIn(content[begin:end], start+int64(end), int64(len(content)-end))
	}
}

func (f File) tailIn(last []byte, end, torn int64) (tail, error) {
	line, ok := parseRecord(last)
	switch {
	case torn > maxRecord:
		return tail{}, fmt.Errorf("%w: %s ends with %d bytes that are no line: it was not written by Append alone; move it away, or put it right by hand", ErrDamaged, f.Path, torn)
	case len(last) == 0 && end == 0:
		return tail{}, nil
	case !ok:
		return tail{}, fmt.Errorf("%w: the last whole line of %s, which ends at byte %d, is not what Append wrote: move the log away, or put it right by hand", ErrDamaged, f.Path, end)
	}
	return tail{line, end}, nil
}

// checkEmpty refuses to make a log of a file that Append has not begun.
func (f File) checkEmpty() error {
	info, err := f.on().stat(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0:
		return nil
	case err != nil:
		return fmt.Errorf("fencefile: the log cannot be looked at: %w", err)
	}
	return fmt.Errorf("fencefile: %s has %d bytes that Append did not write: begin a log with a file that is empty or does not exist", f.Path, info.Size())
}

package wire

import (
	"bytes"
	"errors"
	"strconv"
)

// What is kept of one message. Nothing about a lock is longer, and a peer that
// announces half a gigabyte must not get it.
const (
	maxLine  = 64 << 10  // bytes of a line
	maxBulk  = 256 << 10 // bytes of a string
	maxItems = 4096      // of a message, with all that it contains
	maxKept  = 1 << 20   // bytes of all strings of a message
	maxDepth = 32        // of arrays within arrays
)

// errLost says that the bytes make no sense, so that all that follows makes
// none either.
var errLost = errors.New("wire: the bytes are not those of the Redis protocol")

// scanner cuts a stream of bytes into lines and strings of announced length.
// It keeps no more of either than it may.
type scanner struct {
	line []byte
	text []byte // of the string, as far as it is kept
	left int64  // bytes of the string still to come, with its line end; 0: a line is read
	keep int    // bytes of the string that are kept at the most
	cut  bool   // not all of the line, or string, was kept
	size int64  // of the string
}

// sink gets what a scanner finds. Both slices are valid during the call only.
type sink interface {
	gotLine(line []byte, cut bool) error
	gotText(text []byte, cut bool) error
}

// expect makes the scanner read a string of so many bytes next, and keep at
// most so many.
func (s *scanner) expect(n int64, keep int) {
	s.left, s.size, s.keep, s.cut, s.text = n+2, n, keep, false, s.text[:0]
}

// scan reads on.
func (s *scanner) scan(data []byte, to sink) error {
	for len(data) > 0 {
		var err error
		if s.left > 0 {
			data, err = s.scanText(data, to)
		} else {
			data, err = s.scanLine(data, to)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) scanLine(data []byte, to sink) ([]byte, error) {
	end := bytes.IndexByte(data, '\n')
	part := data
	if end >= 0 {
		part = data[:end]
	}
	if room := maxLine - len(s.line); len(part) > room {
		part, s.cut = part[:room], true
	}
	s.line = append(s.line, part...)
	if end < 0 {
		return nil, nil
	}
	line, cut := bytes.TrimSuffix(s.line, []byte{'\r'}), s.cut
	s.line, s.cut = s.line[:0], false
	return data[end+1:], to.gotLine(line, cut)
}

func (s *scanner) scanText(data []byte, to sink) ([]byte, error) {
	n := min(int64(len(data)), s.left)
	part := data[:n]
	if body := s.left - 2; body < n { // the line end is no part of it
		part = part[:max(body, 0)]
	}
	if room := s.keep - len(s.text); len(part) > room {
		part, s.cut = part[:max(room, 0)], true
	}
	s.text = append(s.text, part...)
	if s.left -= n; s.left > 0 {
		return data[n:], nil
	}
	text, cut := s.text, s.cut
	s.cut = false
	if cap(s.text) > maxLine {
		s.text = nil
	}
	return data[n:], to.gotText(text, cut)
}

// length reads the number after a line's first byte.
func length(line []byte) (int64, error) {
	n, err := strconv.ParseInt(string(line[1:]), 10, 64)
	if err != nil || n < -1 || n > 1<<40 {
		return 0, errLost
	}
	return n, nil
}

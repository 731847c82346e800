package redisserver

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxBulk and maxArgs bound what a client may send, as Redis does.
const (
	maxBulk = 512 << 20
	maxArgs = 1 << 20
)

var errProtocol = errors.New("redisserver: a client breaks the protocol")

// readCommand reads an array of bulk strings, which is what clients send. They are
// parts of one text: a run reads many of them.
func (c *connection) readCommand() ([]string, error) {
	n, err := readHead(c.in, '*', maxArgs)
	if err != nil {
		return nil, err
	}
	c.text, c.ends = c.text[:0], c.ends[:0]
	for range n {
		size, err := readHead(c.in, '$', maxBulk)
		if err != nil {
			return nil, err
		}
		from := len(c.text)
		c.text = slices.Grow(c.text, size+2)[:from+size+2]
		if _, err := io.ReadFull(c.in, c.text[from:]); err != nil {
			return nil, err
		}
		c.text = c.text[:from+size]
		c.ends = append(c.ends, from+size)
	}
	text, from := string(c.text), 0
	args := make([]string, n)
	for i, end := range c.ends {
		args[i], from = text[from:end], end
	}
	return args, nil
}

// readHead reads the line that says how much follows.
func readHead(in *bufio.Reader, kind byte, most int) (int, error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	line = bytes.TrimRight(line, "\r\n")
	if len(line) == 0 || line[0] != kind {
		return 0, fmt.Errorf("%w: %.40q in place of %q and a number", errProtocol, line, kind)
	}
	n, digits := 0, line[1:]
	for _, d := range digits {
		if d < '0' || d > '9' || n > most {
			return 0, fmt.Errorf("%w: %.40q is no size", errProtocol, line)
		}
		n = 10*n + int(d-'0')
	}
	if len(digits) == 0 || n > most {
		return 0, fmt.Errorf("%w: %.40q is no size", errProtocol, line)
	}
	return n, nil
}

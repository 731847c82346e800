package redisserver

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// maxBulk and maxArgs bound what a client may send, as Redis does.
const (
	maxBulk = 512 << 20
	maxArgs = 1 << 20
)

var errProtocol = errors.New("redisserver: a client breaks the protocol")

// readCommand reads an array of bulk strings, which is what clients send.
func readCommand(in *bufio.Reader) ([]string, error) {
	n, err := readHead(in, '*', maxArgs)
	if err != nil {
		return nil, err
	}
	args := make([]string, n)
	for i := range args {
		size, err := readHead(in, '$', maxBulk)
		if err != nil {
			return nil, err
		}
		text := make([]byte, size+2)
		if _, err := io.ReadFull(in, text); err != nil {
			return nil, err
		}
		args[i] = string(text[:size])
	}
	return args, nil
}

// readHead reads the line that says how much follows.
func readHead(in *bufio.Reader, kind byte, most int) (int, error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	text := strings.TrimRight(string(line), "\r\n")
	if text == "" || text[0] != kind {
		return 0, fmt.Errorf("%w: %.40q in place of %q and a number", errProtocol, text, kind)
	}
	n, err := strconv.Atoi(text[1:])
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("%w: %.40q is no size", errProtocol, text)
	}
	return n, nil
}

func appendHead(out []byte, kind byte, n int64) []byte {
	out = strconv.AppendInt(append(out, kind), n, 10)
	return append(out, "\r\n"...)
}

func appendBulk(out []byte, text string) []byte {
	out = appendHead(out, '$', int64(len(text)))
	return append(append(out, text...), "\r\n"...)
}

func appendError(out []byte, text string) []byte { return appendLine(out, '-', text) }

func appendLine(out []byte, kind byte, text string) []byte {
	return append(append(append(out, kind), text...), "\r\n"...)
}

// appendReply appends a reply in RESP2.
func appendReply(out []byte, r redismodel.Reply) []byte {
	switch r.Kind {
	case redismodel.Status:
		return appendLine(out, '+', r.Text)
	case redismodel.Error:
		return appendError(out, r.Text)
	case redismodel.Int:
		return appendHead(out, ':', r.Int)
	case redismodel.Bulk:
		return appendBulk(out, r.Text)
	case redismodel.Array:
		out = appendHead(out, '*', int64(len(r.Items)))
		for _, item := range r.Items {
			out = appendReply(out, item)
		}
		return out
	default:
		return append(out, "$-1\r\n"...)
	}
}

package anyclient

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// errPart says that a command has not come to its end.
var errPart = errors.New("anyclient: a part of a command")

// cutCommand reads a command off the beginning of b: an array of bulk strings.
func cutCommand(b []byte) (command []string, rest []byte, err error) {
	n, rest, err := cutLength(b, '*')
	if err == nil && n < 1 {
		err = fmt.Errorf("anyclient: a command of %d words", n)
	}
	for range n {
		if err != nil {
			break
		}
		var size int
		if size, rest, err = cutLength(rest, '$'); err != nil {
			break
		}
		if len(rest) < size+2 {
			return nil, b, errPart
		}
		command, rest = append(command, string(rest[:size])), rest[size+2:]
	}
	return command, rest, err
}

// cutLength reads a line that consists of the kind and a length.
func cutLength(b []byte, kind byte) (n int, rest []byte, err error) {
	line, rest, whole := bytes.Cut(b, []byte("\r\n"))
	if !whole {
		return 0, b, errPart
	}
	if len(line) > 0 && line[0] == kind {
		if n, err = strconv.Atoi(string(line[1:])); err == nil && n >= 0 {
			return n, rest, nil
		}
	}
	return 0, b, fmt.Errorf("anyclient: %q is no length that begins with %q", line, kind)
}

var oneLine = strings.NewReplacer("\r", " ", "\n", " ")

// appendReply writes a reply as a server does that speaks RESP2.
func appendReply(b []byte, reply any) ([]byte, error) {
	switch r := reply.(type) {
	case nil:
		return append(b, "$-1\r\n"...), nil
	case string:
		return appendBulk(b, r), nil
	case []byte:
		return appendBulk(b, string(r)), nil
	case int64:
		return appendHead(b, ':', r), nil
	case bool:
		if r {
			return appendHead(b, ':', 1), nil
		}
		return appendHead(b, ':', 0), nil
	case float64:
		return appendBulk(b, strconv.FormatFloat(r, 'g', -1, 64)), nil
	case Error:
		return append(append(append(b, '-'), oneLine.Replace(string(r))...), "\r\n"...), nil
	case []any:
		return appendAll(appendHead(b, '*', int64(len(r))), r...)
	case map[string]any:
		return appendPairs(b, r)
	case map[any]any:
		return appendPairs(b, r)
	default:
		return nil, fmt.Errorf("the client's reply has a %T, which is none of the types that Do returns", reply)
	}
}

// appendPairs writes a map as RESP2 has it: each name is followed by its value.
func appendPairs[K comparable](b []byte, pairs map[K]any) (_ []byte, err error) {
	b = appendHead(b, '*', 2*int64(len(pairs)))
	for name, value := range pairs {
		if b, err = appendAll(b, name, value); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func appendAll(b []byte, parts ...any) (_ []byte, err error) {
	for _, part := range parts {
		if b, err = appendReply(b, part); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func appendHead(b []byte, kind byte, n int64) []byte {
	return append(strconv.AppendInt(append(b, kind), n, 10), "\r\n"...)
}

func appendBulk(b []byte, text string) []byte {
	return append(append(appendHead(b, '$', int64(len(text))), text...), "\r\n"...)
}

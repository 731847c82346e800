package session

import (
	"strconv"

	"github.com/recount-io/recount/sim/virtual/redismodel"
)

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

// unasked is the kind of what the connection is sent unasked.
func (c *Session) unasked() byte {
	if c.resp3 {
		return '>'
	}
	return '*'
}

// pushed is something that nobody asked for.
func (c *Session) pushed(texts ...string) []byte {
	out := appendHead(nil, c.unasked(), int64(len(texts)))
	for _, text := range texts {
		out = appendBulk(out, text)
	}
	return out
}

// AppendReply appends a reply in RESP2.
func AppendReply(out []byte, r redismodel.Reply) []byte {
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
			out = AppendReply(out, item)
		}
		return out
	default:
		return append(out, "$-1\r\n"...)
	}
}

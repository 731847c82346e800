package redismodel

import "strconv"

// Kind is the kind of a reply, as in the protocol RESP2.
type Kind uint8

// The kinds of replies. The zero value is the nil reply.
const (
	Nil    Kind = iota // nothing: a key that is not there, a condition that did not hold
	Status             // a simple string, in Text: OK, PONG, a type's name
	Error              // in Text, with its code in front: "WRONGTYPE Operation against …"
	Int                // in Int
	Bulk               // a string of any bytes, in Text
	Array              // in Items
)

// Reply is what a command or a script answers. It is valid until the server's
// next call: that of an array lives in memory that is used again.
type Reply struct {
	Kind  Kind
	Int   int64
	Text  string
	Items []Reply
}

// Integer returns an integer reply, for a script; for an array see [Call.Array].
func Integer(n int64) Reply { return Reply{Kind: Int, Int: n} }

// Text returns a bulk string reply.
func Text(text string) Reply { return Reply{Kind: Bulk, Text: text} }

// Fail returns an error reply. The text begins with the error's code.
func Fail(text string) Reply { return Reply{Kind: Error, Text: text} }

// Failed reports whether the reply is an error.
func (r Reply) Failed() bool { return r.Kind == Error }

// String returns the reply as redis-cli shows it.
func (r Reply) String() string {
	switch r.Kind {
	case Status:
		return r.Text
	case Error:
		return "(error) " + r.Text
	case Int:
		return "(integer) " + strconv.FormatInt(r.Int, 10)
	case Bulk:
		return strconv.Quote(r.Text)
	case Array:
		text := "["
		for i, item := range r.Items {
			if i > 0 {
				text += " "
			}
			text += item.String()
		}
		return text + "]"
	default:
		return "(nil)"
	}
}

// What Redis says when something is wrong.
const (
	errNotInteger = "ERR value is not an integer or out of range"
	errSyntax     = "ERR syntax error"
	errOverflow   = "ERR increment or decrement would overflow"
	errWrongType  = "WRONGTYPE Operation against a key holding the wrong kind of value"
	errNoScript   = "NOSCRIPT No matching script. Please use EVAL."
	errReadOnly   = "READONLY You can't write against a read only replica."
	errMemory     = "OOM command not allowed when used memory > 'maxmemory'."
)

var (
	okay   = Reply{Kind: Status, Text: "OK"}
	absent = Reply{Kind: Nil}
)

// truth is how Redis answers yes and no.
func truth(yes bool) Reply {
	if yes {
		return Integer(1)
	}
	return Integer(0)
}

// parseInt reads an integer as strictly as Redis: no plus, no leading zeros,
// no spaces, nothing but what it would write itself.
func parseInt(text string) (int64, bool) {
	if text == "" || len(text) > 20 {
		return 0, false
	}
	digits := text
	negative := text[0] == '-'
	if negative {
		digits = text[1:]
	}
	if digits == "0" {
		return 0, !negative
	}
	if digits == "" || digits[0] < '1' || digits[0] > '9' {
		return 0, false
	}
	if len(digits) > 18 { // it may overflow
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil
	}
	var n int64
	for i := range len(digits) {
		d := digits[i] - '0'
		if d > 9 {
			return 0, false
		}
		n = n*10 + int64(d)
	}
	if negative {
		n = -n
	}
	return n, true
}

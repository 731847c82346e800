package wire

import (
	"bytes"
	"strconv"
)

// replies reads what a server sends, in RESP2 or RESP3.
type replies struct {
	scanner
	emit  func(Value) error
	stack []frame
	bulk  Kind // of the string that is being read
	verb  bool // it is a verbatim string, whose first four bytes are its format
	kept  int
	items int
}

// frame is something that is made of parts, and not all there.
type frame struct {
	value    Value
	left     int64 // parts still to come; -1: until an end mark
	discard  bool  // an attribute: it says something about the value after it
	streamed bool  // a string that comes in parts
}

func (r *replies) feed(data []byte) error { return r.scan(data, r) }

func (r *replies) gotLine(line []byte, cut bool) error {
	if len(line) == 0 {
		return errLost
	}
	rest := line[1:]
	switch line[0] {
	case '+':
		return r.simple(Status, rest, cut)
	case '-':
		return r.simple(Error, rest, cut)
	case ',':
		return r.simple(Double, rest, cut)
	case '(':
		return r.simple(Big, rest, cut)
	case ':':
		n, err := strconv.ParseInt(string(rest), 10, 64)
		if err != nil {
			return errLost
		}
		return r.got(Value{Kind: Int, Int: n})
	case '#':
		if !bytes.Equal(rest, []byte("t")) && !bytes.Equal(rest, []byte("f")) {
			return errLost
		}
		return r.got(Value{Kind: Bool, Int: int64(map[byte]int{'t': 1}[rest[0]])})
	case '_':
		return r.got(Value{})
	case '$', '!', '=', ';':
		return r.text(line)
	case '*', '~', '%', '>', '|':
		return r.begin(line)
	case '.':
		return r.ended(rest)
	default:
		return errLost
	}
}

func (r *replies) simple(kind Kind, text []byte, cut bool) error {
	if cut || r.kept+len(text) > maxKept {
		if kind != Error {
			return r.got(Value{Kind: Withheld})
		}
		text = text[:min(len(text), 1024)]
	}
	r.kept += len(text)
	return r.got(Value{Kind: kind, Text: string(text)})
}

// text begins a string, or a part of one.
func (r *replies) text(line []byte) error {
	top := r.top()
	part := line[0] == ';'
	if part != (top != nil && top.streamed) {
		return errLost
	}
	if line[0] == '$' && string(line[1:]) == "?" {
		return r.push(frame{value: Value{Kind: Bulk}, left: -1, streamed: true})
	}
	n, err := length(line)
	switch {
	case err != nil || n < 0 && line[0] != '$':
		return errLost
	case n < 0:
		return r.got(Value{})
	case part && n == 0: // the end of it
		whole := top.value
		r.stack = r.stack[:len(r.stack)-1]
		return r.got(whole)
	}
	r.bulk, r.verb = Bulk, line[0] == '='
	if line[0] == '!' {
		r.bulk = Error
	}
	r.expect(n, min(maxBulk, maxKept-r.kept))
	return nil
}

func (r *replies) gotText(text []byte, cut bool) error {
	r.kept += len(text)
	v := Value{Kind: r.bulk, Text: string(text)}
	if r.verb && len(text) >= 4 {
		v.Text = v.Text[4:]
	}
	if cut && r.bulk != Error {
		v = Value{Kind: Withheld}
	}
	top := r.top()
	if top == nil || !top.streamed {
		return r.got(v)
	}
	if v.Kind == Withheld || top.value.Kind == Withheld || len(top.value.Text)+len(v.Text) > maxBulk {
		top.value = v
		top.value.Kind, top.value.Text = Withheld, ""
		return nil
	}
	top.value.Text += v.Text
	return nil
}

// begin begins something that is made of parts.
func (r *replies) begin(line []byte) error {
	kind := map[byte]Kind{'*': Array, '~': Array, '%': Map, '>': Push, '|': Map}[line[0]]
	f := frame{value: Value{Kind: kind}, discard: line[0] == '|'}
	if string(line[1:]) == "?" {
		f.left = -1
		return r.push(f)
	}
	n, err := length(line)
	switch {
	case err != nil || n < 0 && line[0] != '*':
		return errLost
	case n < 0:
		return r.got(Value{})
	case n == 0 && f.discard:
		return nil
	case n == 0:
		return r.got(f.value)
	}
	if f.left = n; kind == Map {
		f.left = 2 * n
	}
	return r.push(f)
}

func (r *replies) push(f frame) error {
	if top := r.top(); len(r.stack) >= maxDepth || top != nil && top.streamed {
		return errLost
	}
	r.stack = append(r.stack, f)
	return nil
}

// ended ends what did not tell its length.
func (r *replies) ended(rest []byte) error {
	top := r.top()
	if top == nil || top.left >= 0 || top.streamed || len(rest) > 0 {
		return errLost
	}
	return r.pop()
}

func (r *replies) pop() error {
	f := r.stack[len(r.stack)-1]
	r.stack = r.stack[:len(r.stack)-1]
	if f.discard {
		return nil
	}
	return r.got(f.value)
}

func (r *replies) top() *frame {
	if len(r.stack) == 0 {
		return nil
	}
	return &r.stack[len(r.stack)-1]
}

// got takes in a value that is all there, and whatever becomes whole by it.
func (r *replies) got(v Value) error {
	top := r.top()
	if top == nil {
		r.kept, r.items = 0, 0
		return r.emit(v)
	}
	if top.streamed {
		return errLost
	}
	if r.items++; r.items <= maxItems {
		top.value.Items = append(top.value.Items, v)
	} else if n := len(top.value.Items); n > 0 {
		top.value.Items[n-1] = Value{Kind: Withheld}
	}
	if top.left > 0 {
		if top.left--; top.left == 0 {
			return r.pop()
		}
	}
	return nil
}

package wire

import "strings"

// request is one command that a client sent.
type request struct {
	args []string
	cut  bool // not all of it was kept
}

// requests reads what a client sends: arrays of strings, and commands in one
// line.
type requests struct {
	scanner
	emit func(request) error
	now  request
	left int64 // arguments still to come
	kept int
}

func (r *requests) feed(data []byte) error { return r.scan(data, r) }

func (r *requests) gotLine(line []byte, cut bool) error {
	switch {
	case cut:
		return errLost
	case r.left > 0:
		return r.argument(line)
	case len(line) > 0 && line[0] == '*':
		n, err := length(line)
		if err != nil {
			return err
		}
		r.left, r.kept, r.now = max(n, 0), 0, request{}
		return nil
	}
	args, fine := splitInline(string(line))
	if !fine {
		return errLost
	}
	if len(args) == 0 {
		return nil
	}
	return r.emit(request{args: args})
}

// argument reads the line that announces one.
func (r *requests) argument(line []byte) error {
	if len(line) == 0 || line[0] != '$' {
		return errLost
	}
	n, err := length(line)
	if err != nil || n < 0 {
		return errLost
	}
	keep := min(maxBulk, maxKept-r.kept)
	if len(r.now.args) >= maxItems {
		keep = 0
	}
	r.expect(n, keep)
	return nil
}

func (r *requests) gotText(text []byte, cut bool) error {
	r.now.cut = r.now.cut || cut
	if len(r.now.args) < maxItems {
		r.now.args = append(r.now.args, string(text))
		r.kept += len(text)
	} else {
		r.now.cut = true
	}
	if r.left--; r.left > 0 {
		return nil
	}
	now := r.now
	r.now = request{}
	return r.emit(now)
}

// splitInline splits a command in one line as the server does: at spaces, with
// quotes of both kinds. It reports false for quotes that do not match.
func splitInline(line string) (args []string, fine bool) {
	for {
		if line = strings.TrimLeft(line, " \t\r\n\v\f\x00"); line == "" {
			return args, true
		}
		arg, rest, fine := nextInline(line)
		if !fine {
			return nil, false
		}
		args, line = append(args, arg), rest
	}
}

// nextInline reads one argument.
func nextInline(line string) (arg, rest string, fine bool) {
	var text strings.Builder
	var quote byte
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quote == 0 && isSpace(c):
			return text.String(), line[i:], true
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote != 0 && c == quote:
			rest = line[i+1:]
			return text.String(), rest, rest == "" || isSpace(rest[0])
		case quote != 0 && c == '\\' && i+1 < len(line):
			n := unescape(&text, line[i:], quote)
			i += n - 1
		default:
			text.WriteByte(c)
		}
	}
	return text.String(), "", quote == 0
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' || c == 0 }

// unescape reads what begins with a backslash, and returns how long it is.
func unescape(to *strings.Builder, from string, quote byte) int {
	next := from[1]
	if quote == '\'' {
		if next == '\'' {
			to.WriteByte(next)
			return 2
		}
		to.WriteByte('\\')
		return 1
	}
	if next == 'x' && len(from) >= 4 && digit(from[2]) >= 0 && digit(from[3]) >= 0 {
		to.WriteByte(byte(digit(from[2])<<4 | digit(from[3])))
		return 4
	}
	if i := strings.IndexByte("nrtba", next); i >= 0 {
		next = "\n\r\t\b\a"[i]
	}
	to.WriteByte(next)
	return 2
}

// digit is the value of a hexadecimal digit, -1 if it is none.
func digit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	default:
		return -1
	}
}

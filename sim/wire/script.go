package wire

import (
	"crypto/sha1" //nolint:gosec // Redis names scripts by their SHA-1
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"github.com/recount-io/recount/history"
)

// script is one that was seen.
type script struct {
	text  string
	proto *lua.FunctionProto // nil: it cannot be read
	past  map[string][]trace // what came of it before, by its arguments
	modes map[string]bool    // whether calls with other arguments do what one does not; see otherwise
	odd   bool               // it answered what none of its executions answers: nobody can foresee it

	function string // if proto is a library: which of its functions
}

// Scripts are the texts of scripts by their names. Runs that share a server share
// them: what one loaded another one may call by its name. It may be used by
// several goroutines.
type Scripts struct {
	mu    sync.Mutex
	texts map[string]string
}

// NewScripts returns an empty collection.
func NewScripts() *Scripts { return &Scripts{texts: map[string]string{}} }

func (s *Scripts) add(name, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts[name] = text
}

func (s *Scripts) text(name string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, known := s.texts[name]
	return text, known
}

// script is the one of that name, nil if its text was never seen.
func (l *Lock) script(name string) *script {
	name = strings.ToLower(name)
	if s := l.scripts[name]; s != nil {
		return s
	}
	if text, known := l.options.Scripts.text(name); known {
		return l.learn(text)
	}
	return nil
}

// maxPast is how many different calls of one script are remembered.
const maxPast = 64

func isScript(name string) bool {
	switch name {
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "FCALL_RO":
		return true
	default:
		return false
	}
}

// learn remembers the text of a script and returns it.
func (l *Lock) learn(text string) *script {
	name := sha1Of(text)
	if known := l.scripts[name]; known != nil {
		return known
	}
	l.options.Scripts.add(name, text)
	s := compile(text)
	l.scripts[name] = s
	return s
}

// sha1Of is the hash by which the server names a text.
func sha1Of(text string) string {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}

// compile reads a text.
func compile(text string) *script {
	s := &script{text: text, past: map[string][]trace{}, modes: map[string]bool{}}
	if strings.HasPrefix(text, "#!") { // a line for the server
		if _, rest, found := strings.Cut(text, "\n"); found {
			text = "\n" + rest
		}
	}
	if chunk, err := parse.Parse(strings.NewReader(text), "script"); err == nil {
		s.proto, _ = lua.Compile(chunk, "script") // nil if it cannot be
	}
	return s
}

// loads notes a script that is made known for later.
func (c *Conn) loads(cmd command) {
	if cmd.name == "SCRIPT" && len(cmd.args) == 3 && upper(cmd.args[1]) == "LOAD" && !cmd.cut {
		c.lock.learn(cmd.args[2])
	}
	c.loadsLibrary(cmd)
}

// scriptTraces are the executions that the script may turn out to be.
func (c *Conn) scriptTraces(cmd command) ([]trace, bool) {
	keys, args, fine := scriptArguments(cmd.args)
	if !fine {
		return nil, true // the server refuses it
	}
	s := c.scriptOf(cmd)
	about := slices.ContainsFunc(keys, func(key string) bool { return c.lock.is(place{cmd.db, key}, false, c, cmd.name) }) || len(keys) == 0 && c.mentions(cmd, s, args)
	if s == nil || s.proto == nil || s.odd {
		if about {
			return []trace{{}}, false
		}
		return nil, true
	}
	e := &explorer{conn: c, db: cmd.db, proto: s.proto, function: s.function, modes: s.modes, keys: keys, args: args, sent: cmd.sent}
	name := strconv.Quote(c.lock.key.key) + strconv.Itoa(cmd.db) + strings.Join(slices.Concat(cmd.args[2:], e.written()), "\x00")
	traces, known := s.past[name]
	if !known {
		traces = e.explore()
		if !c.lock.found && !c.settle(traces) {
			return nil, true
		}
		if len(s.past) >= maxPast {
			clear(s.past)
		}
		if !e.timed && !e.decoded && !e.wide && len(c.lock.fields) == 0 {
			s.past[name] = traces
		}
	}
	if !cmd.sent.IsZero() {
		traces = resent(traces, cmd.sent)
	}
	switch {
	case traces == nil && about:
		return []trace{{}}, false
	case !slices.ContainsFunc(traces, c.touches):
		c.settle(traces) // it may take another key as the lock was taken
		return nil, true
	}
	return traces, true
}

// scriptOf is the script that the command calls, nil if its text was never seen.
func (c *Conn) scriptOf(cmd command) *script {
	switch cmd.name {
	case "EVAL", "EVAL_RO":
		return c.lock.learn(cmd.args[1])
	case "EVALSHA", "EVALSHA_RO":
		return c.lock.script(cmd.args[1])
	default:
		return c.lock.function(cmd.args[1])
	}
}

// mentions reports whether a call that names no keys may be about the lock all the same: its
// key stands in the script's text, or is an argument.
func (c *Conn) mentions(cmd command, s *script, args []string) bool {
	key := c.lock.options.Key
	if c.lock.found {
		key = c.lock.key.key
	}
	there := slices.Contains(args, key) || s != nil && strings.Contains(s.text, key)
	return key != "" && there && c.lock.is(place{cmd.db, key}, false, c, cmd.name)
}

// resent are the executions as those of a call that is sent now: a lease that
// ends at a time by the clock lasts the shorter the later it is asked for.
func resent(traces []trace, now moment) []trace {
	traces = slices.Clone(traces)
	for i := range traces {
		traces[i].steps = slices.Clone(traces[i].steps)
		for j := range traces[i].steps {
			traces[i].steps[j].cmd.sent = now
		}
	}
	return traces
}

// touches reports whether a step of the trace is about the lock.
func (c *Conn) touches(t trace) bool {
	return slices.ContainsFunc(t.steps, func(s stepped) bool { return c.call(s.cmd, nil) != nil })
}

// settle looks for the lock among the keys that a script writes if they are
// free, and reports whether it is known now.
func (c *Conn) settle(traces []trace) bool {
	if c.lock.hasName() {
		return slices.ContainsFunc(traces, c.touches)
	}
	for _, t := range traces {
		for _, s := range t.steps {
			for _, i := range keysOf(s.cmd) {
				at := place{s.cmd.db, s.cmd.args[i]}
				if c.takesIn(t, at) && c.lock.is(at, true, c, "a script") {
					return true
				}
			}
		}
	}
	return false
}

// takesIn reports whether the execution takes the key that nobody had.
func (c *Conn) takesIn(t trace, at place) bool {
	var v view
	for _, s := range t.steps {
		for _, i := range keysOf(s.cmd) {
			if at == (place{s.cmd.db, s.cmd.args[i]}) {
				(&call{
					name: s.cmd.name, args: s.cmd.args, key: at, sent: s.cmd.sent, candidates: t.candidates, own: func(string) bool { return false }, slots: map[string]bool{},
				}).step(&v, s.reply)
			}
		}
	}
	return v.call == history.Acquire && v.fresh && v.unclear == ""
}

// scriptArguments are the keys and the arguments of a script.
func scriptArguments(args []string) (keys, rest []string, fine bool) {
	if len(args) < 3 {
		return nil, nil, false
	}
	n, err := strconv.Atoi(args[2])
	if err != nil || n < 0 || n > len(args)-3 {
		return nil, nil, false
	}
	return args[3 : 3+n], args[3+n:], true
}

// least is the smallest number that can have been made of a sentinel: smaller
// ones are taken to be in the script.
const least = 5000

// fits reports whether the reply can be the result.
func fits(result, reply Value) bool {
	switch result.Kind {
	case Nil:
		return reply.Kind == Nil || reply.no() && reply.Kind == Bool
	case Int:
		number := reply.Kind == Int || reply.Kind == Bool
		switch {
		case result.Int == largeSentinel:
			return number && reply.Int > 0
		case result.Int >= least || result.Int <= -least:
			return number
		}
		return number && result.Int == reply.Int
	case Bulk, Status:
		text, is := reply.text()
		return is && fitsText(result.Text, text)
	case Error:
		said := strings.TrimPrefix(result.Text, "-") // the server leaves that out
		return reply.Kind == Error && (strings.Contains(reply.Text, said) || fitsText(result.Text, reply.Text))
	case Array:
		if reply.Kind != Array || len(reply.Items) != len(result.Items) {
			return false
		}
		for i := range result.Items {
			if !fits(result.Items[i], reply.Items[i]) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// unmask is what the reply has in the place where the result has the value that
// the script did not know.
func unmask(result, reply Value) (string, bool) {
	if result.Kind == Bulk && result.Text == foreign {
		return reply.text()
	}
	for i := range min(len(result.Items), len(reply.Items)) {
		if text, found := unmask(result.Items[i], reply.Items[i]); found {
			return text, true
		}
	}
	return "", false
}

// reveal puts the text in the place of the value that a script did not know.
func reveal(v Value, text string) Value {
	if v.Text == foreign {
		v.Text = text
	}
	if v.Kind == Array {
		v.Items = slices.Clone(v.Items)
		for i := range v.Items {
			v.Items[i] = reveal(v.Items[i], text)
		}
	}
	return v
}

// fitsText reports whether a text can be one that was made of guesses.
func fitsText(result, reply string) bool {
	if strings.Contains(result, foreign) || strings.Contains(result, someNumber) {
		return true
	}
	n, err := strconv.ParseFloat(result, 64)
	return result == reply || err == nil && (n >= least || n <= -least) && strings.Trim(reply, "-+.e0123456789") == ""
}

package wire

import (
	"context"
	"errors"
	"slices"
	"strconv"

	lua "github.com/yuin/gopher-lua"
)

// Bounds of what is tried to find out what a script can have done.
const (
	maxPaths        = 256
	maxInstructions = 200_000 // of all executions of one call
	maxCandidates   = 8
	maxRepeated     = 1 << 20 // bytes that string.rep makes
)

// explorer finds the executions that a call of a script may turn out to be: it
// runs the script again and again, and has each command answered by one of the
// replies that it may get, until all have been tried.
type explorer struct {
	conn       *Conn
	db         int
	proto      *lua.FunctionProto
	function   string          // if proto is a library: the one to run
	modes      map[string]bool // see script
	keys, args []string
	sent       moment

	candidates []string
	wide       bool // other keys may hold what the script was given
	budget     *budget
	path       []choice
	at         int  // in path
	lost       bool // something was done that nobody can foresee
	timed      bool // the script asks what time it is
	decoded    bool // the script looks into a value: JSON, MessagePack or a struct of C
	looked     bool // this execution did: an error may be what comes of it

	came  map[string]bool // the commands that executions came to; nil: nobody asks
	names []string        // of functions that were registered
	body  *lua.LFunction

	steps []stepped
	views map[string]*view // of this execution, by key
}

// choice is which reply a command of an execution gets.
type choice struct{ taken, of int }

// explore returns the executions; none if they are too many, if one does what
// nobody can foresee, or if the script names a command that writes and none of them
// carries it out: then what has to be in the store for that is not known.
func (e *explorer) explore() []trace {
	e.offer(maxCandidates, e.args)
	e.offer(maxCandidates, e.others())
	e.offer(maxCandidates, e.written())
	traces := e.all()
	if e.reaches(traces) {
		return traces
	}
	e.wide = true
	e.offer(maxCandidates+maxHeld, e.conn.lock.held(e.conn.node, e.timed))
	if traces = e.all(); e.reaches(traces) {
		return traces
	}
	return nil
}

// offer adds values that the lock may hold, up to so many in all.
func (e *explorer) offer(most int, values []string) {
	for _, value := range values {
		if len(e.candidates) < most && !slices.Contains(e.candidates, value) {
			e.candidates = append(e.candidates, value)
		}
	}
}

// all runs the script until every reply has been tried, and returns the executions;
// none if they are too many, or one does what nobody can foresee.
func (e *explorer) all() []trace {
	e.begin()
	e.path = nil
	var traces []trace
	for {
		timed, decoded := e.timed, e.decoded
		value, fine := e.run()
		if e.decoded && (!decoded || e.timed != timed) {
			e.offer(maxCandidates+maxHeld, e.conn.lock.held(e.conn.node, e.timed))
		}
		if e.timed && !timed || e.decoded && !decoded { // what it got before may have been a time, or nothing to look into
			e.path, traces = nil, nil
			continue
		}
		if !fine || e.lost || len(traces) >= maxPaths {
			return nil
		}
		traces = append(traces, trace{steps: e.steps, candidates: e.candidates, result: value, timed: e.timed})
		e.path = e.path[:e.at]
		for len(e.path) > 0 && e.path[len(e.path)-1].taken+1 >= e.path[len(e.path)-1].of {
			e.path = e.path[:len(e.path)-1]
		}
		if len(e.path) == 0 {
			return traces
		}
		e.path[len(e.path)-1].taken++
	}
}

// begin sets the bounds.
func (e *explorer) begin() {
	e.budget = &budget{Context: context.Background(), left: maxInstructions, done: make(chan struct{})}
}

// run executes the script once, by the present path.
func (e *explorer) run() (Value, bool) {
	e.at, e.steps, e.views, e.looked = 0, nil, map[string]*view{}, false
	return e.perform()
}

// perform executes the script, or the function of the library.
func (e *explorer) perform() (Value, bool) {
	e.names, e.body = nil, nil
	state := lua.NewState(lua.Options{SkipOpenLibs: true, CallStackSize: 64, RegistrySize: 1024, RegistryMaxSize: 64 << 10})
	defer state.Close()
	state.SetContext(e.budget)
	e.furnish(state)
	state.Push(state.NewFunctionFromProto(e.proto))
	if err := state.PCall(0, 1, nil); err != nil {
		return Value{Kind: Error}, e.looked && e.budget.left > 0
	}
	if e.function != "" {
		if e.body == nil {
			return Value{}, false
		}
		call := lua.P{Fn: e.body, NRet: 1, Protect: true}
		if err := state.CallByParam(call, list(state, e.keys), list(state, e.args)); err != nil {
			return Value{Kind: Error}, e.looked && e.budget.left > 0
		}
	}
	return fromLua(state.Get(-1), 0)
}

// furnish gives the script what the server would, but for what reaches out.
func (e *explorer) furnish(state *lua.LState) {
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenTable, lua.OpenString, lua.OpenMath} {
		state.Push(state.NewFunction(open))
		state.Call(0, 0)
	}
	for _, name := range []string{"dofile", "loadfile", "load", "loadstring", "require", "module", "print", "collectgarbage", "newproxy"} {
		state.SetGlobal(name, lua.LNil)
	}
	if math, is := state.GetGlobal("math").(*lua.LTable); is {
		math.RawSetString("randomseed", lua.LNil)
		math.RawSetString("random", lua.LNil)
	}
	if text, is := state.GetGlobal("string").(*lua.LTable); is {
		text.RawSetString("rep", state.NewFunction(repeat))
	}
	state.SetGlobal("KEYS", list(state, e.keys))
	state.SetGlobal("ARGV", list(state, e.args))
	redis := state.NewTable()
	state.SetFuncs(redis, map[string]lua.LGFunction{
		"call": e.command, "pcall": e.command, "error_reply": replyTable("err"), "status_reply": replyTable("ok"),
		"sha1hex": digest, "log": silent, "setresp": silent, "set_repl": silent, "replicate_commands": agree, "register_function": e.register,
	})
	for i, level := range []string{"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"} {
		redis.RawSetString(level, lua.LNumber(i))
	}
	e.libraries(state)
	state.SetGlobal("redis", redis)
	state.SetGlobal("server", redis)
}

func list(state *lua.LState, items []string) *lua.LTable {
	table := state.NewTable()
	for _, item := range items {
		table.Append(lua.LString(item))
	}
	return table
}

// digest is redis.sha1hex.
func digest(state *lua.LState) int {
	state.Push(lua.LString(sha1Of(state.CheckString(1))))
	return 1
}

func silent(*lua.LState) int { return 0 }

func agree(state *lua.LState) int {
	state.Push(lua.LTrue)
	return 1
}

// replyTable makes redis.error_reply and redis.status_reply.
func replyTable(field string) lua.LGFunction {
	return func(state *lua.LState) int {
		table := state.NewTable()
		table.RawSetString(field, lua.LString(state.CheckString(1)))
		state.Push(table)
		return 1
	}
}

// repeat is string.rep, within bounds.
func repeat(state *lua.LState) int {
	text, n := state.CheckString(1), state.CheckInt(2)
	if n > 0 && len(text)*n > maxRepeated {
		state.RaiseError("too long")
	}
	var out []byte
	for range n {
		out = append(out, text...)
	}
	state.Push(lua.LString(out))
	return 1
}

// command is redis.call: it notes the command, and answers with the next reply
// of the path.
func (e *explorer) command(state *lua.LState) int {
	if name, is := state.Get(1).(lua.LString); is && e.came != nil {
		e.came[upper(string(name))] = true
	}
	var args []string
	for i := 1; i <= state.GetTop(); i++ {
		switch arg := state.Get(i).(type) {
		case lua.LString:
			args = append(args, string(arg))
		case lua.LNumber:
			args = append(args, formatNumber(float64(arg)))
		default:
			state.RaiseError("Command arguments must be strings or integers")
		}
	}
	if len(args) == 0 {
		state.RaiseError("Please specify at least one argument for this redis.call() call")
	}
	cmd := command{db: e.db, name: upper(args[0]), args: args, sent: e.sent}
	replies := e.guesses(cmd)
	if len(replies) == 0 {
		e.lost = true // whatever the script makes of the error
		state.RaiseError("nobody knows what %s answers", cmd.name)
	}
	if e.at == len(e.path) {
		e.path = append(e.path, choice{of: len(replies)})
	}
	reply := replies[min(e.path[e.at].taken, len(replies)-1)]
	e.at++
	e.steps = append(e.steps, stepped{cmd, reply})
	if k := e.call(cmd); k != nil {
		k.step(e.views[k.key.key], reply)
	}
	state.Push(toLua(state, reply))
	return 1
}

// call is the command as one on a key that may be the lock.
func (e *explorer) call(cmd command) *call {
	lock := e.conn.lock
	for _, i := range keysOf(cmd) {
		key := cmd.args[i]
		if lock.found && (place{cmd.db, key}) != lock.key || !lock.found && lock.hasName() && !lock.named(key) {
			continue
		}
		if e.views[key] == nil {
			e.views[key] = &view{}
		}
		return &call{
			name: cmd.name, args: cmd.args, key: place{cmd.db, key}, sent: cmd.sent, candidates: e.candidates,
			own: func(string) bool { return false }, slots: lock.slots, states: lock.states(),
		}
	}
	return nil
}

// guesses are the replies that the command may get. Of one on the lock of which nothing
// is understood nobody knows what it answers.
func (e *explorer) guesses(cmd command) []Value {
	if k := e.call(cmd); k != nil {
		list := k.guesses(e.views[k.key.key])
		if list != nil || e.conn.lock.found || e.conn.lock.hasName() {
			return list
		}
	}
	if cmd.name == "TIME" {
		e.timed = true
		return shows(e.sent.Time)
	}
	list := guessOther(cmd)
	if e.wide && (cmd.name == "GET" || cmd.name == "HGET") {
		for _, arg := range e.args {
			list = append(list, bulk(arg))
		}
	}
	if e.timed {
		list = later(list)
	}
	return list
}

// budget ends what runs for too long. It counts instructions, because the
// interpreter asks it before each one, and so needs no clock.
type budget struct {
	context.Context
	left int
	done chan struct{}
}

var errBudget = errors.New("wire: the script runs for too long")

// Done implements context.Context.
func (b *budget) Done() <-chan struct{} {
	if b.left--; b.left == 0 {
		close(b.done)
	}
	return b.done
}

// Err implements context.Context.
func (b *budget) Err() error {
	if b.left > 0 {
		return nil
	}
	return errBudget
}

// formatNumber writes a number as the server does for a command.
func formatNumber(n float64) string {
	if n == float64(int64(n)) {
		return strconv.FormatInt(int64(n), 10)
	}
	return strconv.FormatFloat(n, 'g', 17, 64)
}

// toLua is a reply as a script gets it.
func toLua(state *lua.LState, v Value) lua.LValue {
	switch v.Kind {
	case Int:
		return lua.LNumber(v.Int)
	case Bulk:
		return lua.LString(v.Text)
	case Status:
		table := state.NewTable()
		table.RawSetString("ok", lua.LString(v.Text))
		return table
	case Array:
		table := state.NewTable()
		for _, item := range v.Items {
			table.Append(toLua(state, item))
		}
		return table
	default:
		return lua.LFalse
	}
}

// fromLua is what a script returns as a reply.
func fromLua(v lua.LValue, depth int) (Value, bool) {
	switch v := v.(type) {
	case lua.LString:
		return bulk(string(v)), true
	case lua.LNumber:
		return number(int64(v)), true
	case lua.LBool:
		if v {
			return number(1), true
		}
		return Value{}, true
	case *lua.LNilType:
		return Value{}, true
	case *lua.LTable:
		if depth > maxDepth {
			return Value{}, false
		}
		return fromTable(v, depth)
	default:
		return Value{}, true
	}
}

func fromTable(table *lua.LTable, depth int) (Value, bool) {
	if text, is := table.RawGetString("err").(lua.LString); is {
		return Value{Kind: Error, Text: string(text)}, true
	}
	if text, is := table.RawGetString("ok").(lua.LString); is {
		return Value{Kind: Status, Text: string(text)}, true
	}
	if number, is := table.RawGetString("double").(lua.LNumber); is {
		return Value{Kind: Double, Text: formatNumber(float64(number))}, false
	}
	out := Value{Kind: Array}
	for i := 1; ; i++ {
		item := table.RawGetInt(i)
		if item == lua.LNil {
			return out, true
		}
		v, fine := fromLua(item, depth+1)
		if !fine {
			return Value{}, false
		}
		out.Items = append(out.Items, v)
	}
}

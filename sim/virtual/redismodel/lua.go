package redismodel

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"github.com/recount-io/recount/sim/wire/cjson"
	"github.com/recount-io/recount/sim/wire/cmsgpack"
	"github.com/recount-io/recount/sim/wire/luabit"
	"github.com/recount-io/recount/sim/wire/luastruct"
)

// Interpreter runs scripts of which there is no port, from their Lua text. It
// gives them what Redis 7.0 gives, as far as nothing comes from outside: the
// language, its libraries for tables, strings and numbers (without random
// ones), cjson, cmsgpack, struct, bit, and redis.call and its kin. A number is
// turned into text as Go does where Lua would round to 14 digits.
//
// One state serves all scripts of a server, as in Redis: what a script could
// leave behind for another one is read-only. So one may serve several servers,
// too, one call at a time. The zero value is ready.
type Interpreter struct {
	state *lua.LState
	call  *Call    // of the script that runs
	args  []string // of the command at hand

	matcher matcher
	sealed  map[*lua.LTable]bool // tables that no script may change
}

// What a script cannot have here: it reaches outside, or differs in each run.
var (
	missingFunctions = []string{
		"collectgarbage", "dofile", "load", "loadfile", "loadstring", "module", "newproxy", "print", "_printregs", "rawset", "require", "getfenv", "setfenv",
	}
	missingMath = []string{"random", "randomseed"}
)

// notInScripts are the commands of the model that no script may use.
var notInScripts = map[name]bool{cmdScript: true, cmdEval: true, cmdEvalSHA: true, cmdWait: true}

const (
	scriptName       = "user_script"
	errReadOnlyTable = "Attempt to modify a readonly table"
)

// Compile makes a script of its Lua text, which any server runs.
func Compile(name, text string) (*Script, error) {
	proto, err := parsed(text)
	if err != nil {
		return nil, fmt.Errorf("redismodel: the script %s: %w", name, err)
	}
	return scriptFrom(name, text, proto), nil
}

// MustCompile is Compile for a text that is known to be right. It compiles the text when
// the script first runs, and then panics if it is wrong: most programs that have such
// scripts run few of them.
func MustCompile(name, text string) *Script {
	run := sync.OnceValue(func() func(*Call) Reply {
		script, err := Compile(name, text)
		if err != nil {
			panic(err)
		}
		return script.Run
	})
	return &Script{Name: name, Source: text, Run: func(c *Call) Reply { return run()(c) }}
}

// compile makes a script of a text, or the error that Redis answers.
func (s *Server) compile(text string) (*Script, *Reply) {
	proto, err := parsed(text)
	if err != nil {
		fault := Fail("ERR Error compiling script (new function): " + oneLine(err.Error()))
		return nil, &fault
	}
	return scriptFrom(scriptName, text, proto), nil
}

func scriptFrom(name, text string, proto *lua.FunctionProto) *Script {
	return &Script{Name: name, Source: text, Run: func(c *Call) Reply { return c.s.interpreter().run(c, proto) }}
}

func parsed(text string) (*lua.FunctionProto, error) {
	body := text
	if strings.HasPrefix(body, "#!lua") {
		body = "--" + body
	}
	chunk, err := parse.Parse(strings.NewReader(body), scriptName)
	if err != nil {
		return nil, err
	}
	proto, err := lua.Compile(chunk, scriptName)
	if err == nil {
		// What is outside every function has no table of its arguments, as in Lua
		// 5.1, which would be made for each call.
		proto.IsVarArg &^= lua.VarArgNeedsArg
	}
	return proto, err
}

func (s *Server) interpreter() *Interpreter {
	if s.lua == nil {
		s.lua = &Interpreter{}
	}
	if s.lua.state == nil {
		s.lua.open()
	}
	return s.lua
}

// open makes the state, which takes as long as ten scripts.
func (in *Interpreter) open() {
	in.state = lua.NewState(lua.Options{SkipOpenLibs: true, RegistrySize: 1024, RegistryMaxSize: 1 << 20, RegistryGrowStep: 1024})
	in.sealed = map[*lua.LTable]bool{}
	l := in.state
	for name, open := range map[string]lua.LGFunction{"": lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString, lua.MathLibName: lua.OpenMath} {
		l.Push(l.NewFunction(open))
		l.Push(lua.LString(name))
		l.Call(1, 0)
	}
	globals := l.G.Global
	for _, name := range missingFunctions {
		globals.RawSetString(name, lua.LNil)
	}
	for _, name := range missingMath {
		globals.RawGetString(lua.MathLibName).(*lua.LTable).RawSetString(name, lua.LNil)
	}
	for name, f := range in.metatables() {
		globals.RawSetString(name, l.NewFunction(f))
	}
	text := globals.RawGetString(lua.StringLibName).(*lua.LTable)
	text.RawSetString("match", l.NewFunction(in.luaMatch(text.RawGetString("match").(*lua.LFunction).GFunction)))
	globals.RawSetString("pcall", l.NewFunction(luaPcall))
	globals.RawSetString("redis", in.library())
	for _, name := range []string{lua.TabLibName, lua.StringLibName, lua.MathLibName, "redis"} {
		globals.RawSetString(name, in.readOnly(globals.RawGetString(name).(*lua.LTable)))
	}
	for name, table := range map[string]func(*lua.LState) *lua.LTable{"cjson": cjson.Table, "cmsgpack": cmsgpack.Table, "struct": luastruct.Table, "bit": luabit.Table} {
		globals.RawSetString(name, in.readOnly(table(l)))
	}
	in.protect(globals)
}

// library is the table redis.
func (in *Interpreter) library() *lua.LTable {
	l := in.state
	redis := l.NewTable()
	l.SetFuncs(redis, map[string]lua.LGFunction{
		"call":  func(l *lua.LState) int { return in.command(true) },
		"pcall": func(l *lua.LState) int { return in.command(false) },
		"error_reply": func(l *lua.LState) int {
			l.Push(in.field("err", errorText(l.CheckString(1))))
			return 1
		},
		"status_reply": func(l *lua.LState) int {
			l.Push(in.field("ok", l.CheckString(1)))
			return 1
		},
		"sha1hex": func(l *lua.LState) int {
			l.Push(lua.LString(digest(l.CheckString(1))))
			return 1
		},
		"log": func(*lua.LState) int { return 0 },
		"replicate_commands": func(l *lua.LState) int {
			l.Push(lua.LTrue)
			return 1
		},
	})
	for level, name := range []string{"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"} {
		redis.RawSetString(name, lua.LNumber(level))
	}
	return redis
}

// readOnly is what a script sees of a library's table.
func (in *Interpreter) readOnly(library *lua.LTable) *lua.LTable {
	seen, meta := in.state.NewTable(), in.state.NewTable()
	meta.RawSetString("__index", library)
	meta.RawSetString("__newindex", in.state.NewFunction(refuseWrite))
	seen.Metatable = meta
	in.sealed[seen] = true
	return seen
}

// protect lets nobody make global variables, nor read those that are not there.
func (in *Interpreter) protect(globals *lua.LTable) {
	meta := in.state.NewTable()
	meta.RawSetString("__newindex", in.state.NewFunction(refuseWrite))
	meta.RawSetString("__index", in.state.NewFunction(func(l *lua.LState) int {
		l.RaiseError("Script attempted to access nonexistent global variable '%s'", l.CheckAny(2).String())
		return 0
	}))
	globals.Metatable = meta
	in.sealed[globals] = true
}

// luaPcall is pcall, which gives an error that has a text as that text.
func luaPcall(l *lua.LState) int {
	l.CheckAny(1)
	before := l.GetTop() - 1
	err := l.PCall(before, lua.MultRet, nil)
	if err == nil {
		l.Insert(lua.LTrue, 1)
		return l.GetTop()
	}
	var what lua.LValue = lua.LString(err.Error())
	var thrown *lua.ApiError
	if errors.As(err, &thrown) {
		what = thrown.Object
	}
	if table, is := what.(*lua.LTable); is && table.RawGetString("err") != lua.LNil {
		what = table.RawGetString("err")
	}
	l.SetTop(0)
	l.Push(lua.LFalse)
	l.Push(what)
	return 2
}

// metatables are getmetatable and setmetatable, for which sealed tables and
// strings have none.
func (in *Interpreter) metatables() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		"getmetatable": func(l *lua.LState) int {
			t, is := l.CheckAny(1).(*lua.LTable)
			if !is || in.sealed[t] {
				l.Push(lua.LNil)
			} else {
				l.Push(t.Metatable)
			}
			return 1
		},
		"setmetatable": func(l *lua.LState) int {
			t := l.CheckTable(1)
			if in.sealed[t] {
				l.Error(lua.LString(errReadOnlyTable), 0)
			}
			l.SetMetatable(t, l.Get(2))
			l.SetTop(1)
			return 1
		},
	}
}

func refuseWrite(l *lua.LState) int {
	l.RaiseError(errReadOnlyTable)
	return 0
}

// run executes a compiled script.
func (in *Interpreter) run(c *Call, proto *lua.FunctionProto) Reply {
	l := in.state
	in.call = c
	l.G.Global.RawSetString("KEYS", in.list(c.Keys))
	l.G.Global.RawSetString("ARGV", in.list(c.Args))
	l.Push(l.NewFunctionFromProto(proto))
	err := l.PCall(0, 1, nil)
	if err != nil {
		return thrown(err)
	}
	result := l.Get(-1)
	l.Pop(1)
	return replyOf(result)
}

func (in *Interpreter) list(texts []string) *lua.LTable {
	t := in.state.CreateTable(len(texts), 0)
	for _, text := range texts {
		t.Append(lua.LString(text))
	}
	return t
}

// command is redis.call, which throws what fails, and redis.pcall, which
// returns it.
func (in *Interpreter) command(throws bool) int {
	l := in.state
	reply := in.execute()
	if reply.Kind == Error && throws {
		l.Error(in.field("err", reply.Text), 0)
	}
	l.Push(in.value(reply))
	return 1
}

func (in *Interpreter) execute() Reply {
	l, c := in.state, in.call
	if l.GetTop() == 0 {
		return Fail("ERR Please specify at least one argument for this redis lib call")
	}
	args := slices.Grow(in.args[:0], l.GetTop())[:l.GetTop()]
	in.args = args
	for i := range args {
		switch v := l.Get(i + 1).(type) {
		case lua.LString:
			args[i] = string(v)
		case lua.LNumber:
			args[i] = strconv.FormatFloat(float64(v), 'g', 17, 64)
		default:
			return Fail("ERR Lua redis lib command arguments must be strings or integers")
		}
	}
	args[0] = upper(args[0])
	def, known := commands[args[0]]
	switch {
	case !known:
		return Fail("ERR Unknown Redis command called from script")
	case int(def.arity) != len(args) && (def.arity > 0 || len(args) < -int(def.arity)):
		return Fail("ERR Wrong number of args calling Redis command from script")
	case notInScripts[def.name]:
		return Fail("ERR This Redis command is not allowed from script")
	}
	reply := c.Do(args...)
	if c.failure != "" { // what comes after it is for the script to say
		reply, c.failure = Fail(c.failure), ""
	}
	return reply
}

// value is a reply as a script sees it.
func (in *Interpreter) value(r Reply) lua.LValue {
	switch r.Kind {
	case Status:
		return in.field("ok", r.Text)
	case Error:
		return in.field("err", r.Text)
	case Int:
		return lua.LNumber(r.Int)
	case Bulk:
		return lua.LString(r.Text)
	case Array:
		t := in.state.CreateTable(len(r.Items), 0)
		for i, item := range r.Items {
			t.RawSetInt(i+1, in.value(item))
		}
		return t
	default:
		return lua.LFalse
	}
}

func (in *Interpreter) field(name, text string) *lua.LTable {
	t := in.state.NewTable()
	t.RawSetString(name, lua.LString(text))
	return t
}

// replyOf is what a script's result becomes.
func replyOf(v lua.LValue) Reply {
	switch v := v.(type) {
	case lua.LString:
		return Text(string(v))
	case lua.LNumber:
		return Integer(whole(float64(v)))
	case lua.LBool:
		if v {
			return Integer(1)
		}
		return absent
	case *lua.LTable:
		if text, is := v.RawGetString("err").(lua.LString); is {
			return Fail(oneLine(string(text)))
		}
		if text, is := v.RawGetString("ok").(lua.LString); is {
			return Reply{Kind: Status, Text: oneLine(string(text))}
		}
		items := []Reply{}
		for i := 1; v.RawGetInt(i) != lua.LNil; i++ {
			items = append(items, replyOf(v.RawGetInt(i)))
		}
		return Reply{Kind: Array, Items: items}
	default:
		return absent
	}
}

// whole cuts off what is behind the point.
func whole(f float64) int64 {
	if f >= math.MaxInt64 || f < math.MinInt64 || f != f {
		return math.MinInt64 // as processors do that Redis mostly runs on
	}
	return int64(f)
}

// thrown is the reply of a script that ended with an error.
func thrown(err error) Reply {
	var what *lua.ApiError
	if !errors.As(err, &what) {
		return Fail("ERR " + oneLine(err.Error()))
	}
	if table, is := what.Object.(*lua.LTable); is {
		return replyOf(table)
	}
	return Fail("ERR " + oneLine(what.Object.String()))
}

// errorText gives an error a code if it has none.
func errorText(text string) string {
	text = strings.TrimPrefix(text, "-")
	if !strings.Contains(text, " ") {
		return "ERR " + text
	}
	return text
}

// oneLine keeps an error or a status on its line.
func oneLine(text string) string {
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(strings.TrimSpace(text))
}

package wire

import (
	lua "github.com/yuin/gopher-lua"

	"github.com/recount-io/recount/sim/wire/cjson"
	"github.com/recount-io/recount/sim/wire/cmsgpack"
	"github.com/recount-io/recount/sim/wire/luabit"
	"github.com/recount-io/recount/sim/wire/luastruct"
)

// libraries gives the script those that look into values, and bit.
func (e *explorer) libraries(state *lua.LState) {
	json, pack, structs := cjson.Table(state), cmsgpack.Table(state), luastruct.Table(state)
	e.looks(state, json, "decode", 1, whole)
	e.looks(state, pack, "unpack", 1, whole)
	for _, name := range []string{"unpack_one", "unpack_limit"} {
		e.looks(state, pack, name, 1, func(state *lua.LState) int {
			state.Push(lua.LNumber(-1)) // there is no more of it
			return 1 + whole(state)
		})
	}
	e.looks(state, structs, "unpack", 2, func(state *lua.LState) int {
		n := luastruct.Results(state.CheckString(1))
		for range n {
			state.Push(lua.LString(foreign))
		}
		state.Push(lua.LNumber(largeSentinel))
		return n + 1
	})
	state.SetGlobal("cjson", json)
	state.SetGlobal("cmsgpack", pack)
	state.SetGlobal("struct", structs)
	state.SetGlobal("bit", luabit.Table(state))
}

// looks notes when the function of the library looks into a value, which is the argument at
// that place. Into one that nobody knows nobody can look: unknown pushes what the script
// gets then.
func (e *explorer) looks(state *lua.LState, library *lua.LTable, name string, at int, unknown lua.LGFunction) {
	known := library.RawGetString(name)
	library.RawSetString(name, state.NewFunction(func(state *lua.LState) int {
		e.decoded, e.looked = true, true
		if state.CheckString(at) == foreign {
			return unknown(state)
		}
		n := state.GetTop()
		state.Push(known)
		for i := 1; i <= n; i++ {
			state.Push(state.Get(i))
		}
		state.Call(n, lua.MultRet)
		return state.GetTop() - n
	}))
}

// whole pushes a table of which each field is a value that nobody knows.
func whole(state *lua.LState) int {
	table, meta := state.NewTable(), state.NewTable()
	meta.RawSetString("__index", state.NewFunction(func(state *lua.LState) int {
		state.Push(lua.LString(foreign))
		return 1
	}))
	state.SetMetatable(table, meta)
	state.Push(table)
	return 1
}

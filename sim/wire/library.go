package wire

import (
	lua "github.com/yuin/gopher-lua"
)

// loadsLibrary notes the functions of a library that is made known for later by
// FUNCTION LOAD.
func (c *Conn) loadsLibrary(cmd command) {
	if cmd.name != "FUNCTION" || len(cmd.args) < 3 || upper(cmd.args[1]) != "LOAD" || cmd.cut {
		return
	}
	text := cmd.args[len(cmd.args)-1]
	s := compile(text)
	if s.proto == nil {
		return
	}
	for _, name := range registered(s.proto) {
		c.lock.options.Scripts.add(functionName(name), text)
		c.lock.scripts[functionName(name)] = &script{text: text, proto: s.proto, function: name, past: map[string][]trace{}, modes: map[string]bool{}}
	}
}

// functionName is how a function is called among scripts, which have the names
// of hashes.
func functionName(name string) string { return "function " + name }

// function is the function of that name, nil if its library was never seen.
func (l *Lock) function(name string) *script {
	if s := l.scripts[functionName(name)]; s != nil {
		return s
	}
	text, known := l.options.Scripts.text(functionName(name))
	if !known {
		return nil
	}
	s := compile(text)
	s.function = name
	l.scripts[functionName(name)] = s
	return s
}

// registered are the names of the functions that a library registers.
func registered(proto *lua.FunctionProto) []string {
	e := &explorer{proto: proto}
	e.begin()
	e.perform()
	return e.names
}

// register is redis.register_function, with a name and a function or a table of
// both.
func (e *explorer) register(state *lua.LState) int {
	name, body := state.Get(1), state.Get(2)
	if table, is := name.(*lua.LTable); is {
		name, body = table.RawGetString("function_name"), table.RawGetString("callback")
	}
	function, is := body.(*lua.LFunction)
	if !is || name.Type() != lua.LTString {
		state.RaiseError("wrong arguments of redis.register_function")
	}
	e.names = append(e.names, name.String())
	if name.String() == e.function {
		e.body = function
	}
	return 0
}

package wire

import (
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// writing are the commands that may write a lock or take it away.
var writing = map[string]bool{
	"SET": true, "SETNX": true, "SETEX": true, "PSETEX": true, "MSET": true, "MSETNX": true, "GETSET": true, "GETDEL": true, "GETEX": true,
	"DEL": true, "UNLINK": true, "DELEX": true, "DELIFEQ": true, "RENAME": true, "EXPIRE": true, "PEXPIRE": true, "EXPIREAT": true, "PEXPIREAT": true,
	"PERSIST": true, "HSET": true, "HSETNX": true, "HMSET": true, "HDEL": true, "HINCRBY": true,
}

// maxModes is how often one of a script's texts is tried in the place of an argument.
const maxModes = 100

// reaches reports whether the executions carry out every command that writes and that the
// script names, on whatever key; or calls of the script do that do something else. That
// finds a script that compares the lock with something unknown: with the value of another
// key, say, it would seem to do nothing.
func (e *explorer) reaches(traces []trace) bool {
	missed := e.missed(traces)
	return len(missed) == 0 || e.otherwise(missed)
}

// missed are the commands that write and that the script names, but for those that one of
// the executions carries out. Where there are none nothing is missed.
func (e *explorer) missed(traces []trace) []string {
	if traces == nil {
		return nil
	}
	did := map[string]bool{}
	for _, t := range traces {
		for _, s := range t.steps {
			did[s.cmd.name] = true
		}
	}
	var list []string
	for _, text := range e.texts() {
		if name := upper(text); writing[name] && !did[name] {
			did[name] = true
			list = append(list, name)
		}
	}
	return list
}

// otherwise reports whether other calls of the script carry out these commands, with one of
// its texts in the place of an argument: "renew" where there is "take". Where a script does
// what an argument says one call does not do all that it names.
func (e *explorer) otherwise(missed []string) bool {
	texts := slices.Compact(slices.Sorted(slices.Values(e.texts())))
	id := strings.Join(missed, "\x00")
	for _, arg := range e.args {
		if slices.Contains(texts, arg) {
			id += "\x00" + arg
		}
	}
	does, known := e.modes[id]
	if !known {
		does = e.inOtherModes(texts, missed)
		e.modes[id] = does
	}
	return does
}

// inOtherModes tells the same by trying these texts.
func (e *explorer) inOtherModes(texts, missed []string) bool {
	tries := 0
	for i, arg := range e.args {
		for _, text := range texts {
			if tries++; text == arg || tries > maxModes {
				continue
			}
			other := &explorer{conn: e.conn, db: e.db, proto: e.proto, function: e.function, keys: e.keys, args: slices.Clone(e.args), sent: e.sent, wide: e.wide}
			other.args[i], other.candidates, other.came = text, slices.Clone(e.candidates), map[string]bool{}
			other.all() // and if it fails: another use may want more arguments
			if missed = slices.DeleteFunc(slices.Clone(missed), func(name string) bool { return other.came[name] }); len(missed) == 0 {
				return true
			}
		}
	}
	return false
}

// others are the keys of the call but the lock: a script may be given its token as one.
func (e *explorer) others() []string {
	lock := e.conn.lock
	if !lock.found && !lock.hasName() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(e.keys), func(key string) bool { return key == lock.key.key || lock.named(key) })
}

// written are the values that stand in the script's text, as far as somebody sent them to
// take the lock.
func (e *explorer) written() []string {
	return slices.DeleteFunc(constants(e.proto), func(text string) bool { return e.conn.lock.owners[text] == nil })
}

// texts are those of what is executed: the script, or the function of a library with those
// that it may call.
func (e *explorer) texts() []string {
	if e.function == "" {
		return constants(e.proto)
	}
	return within(e.body, map[*lua.LFunction]bool{})
}

// constants are the texts of a function and of those within it.
func constants(proto *lua.FunctionProto) []string {
	var list []string
	for _, value := range proto.Constants {
		if text, is := value.(lua.LString); is {
			list = append(list, string(text))
		}
	}
	for _, inner := range proto.FunctionPrototypes {
		list = append(list, constants(inner)...)
	}
	return list
}

// within are the texts of a function and of those that it has from around it.
func within(f *lua.LFunction, seen map[*lua.LFunction]bool) []string {
	if f == nil || f.IsG || seen[f] {
		return nil
	}
	seen[f] = true
	list := constants(f.Proto)
	for _, up := range f.Upvalues {
		if inner, is := up.Value().(*lua.LFunction); is {
			list = append(list, within(inner, seen)...)
		}
	}
	return list
}

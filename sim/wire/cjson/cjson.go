// Package cjson is the table of that name which Redis gives to scripts: JSON, for those
// that keep it in a key.
package cjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Table is the table, for one state. Its encode writes the fields of an object in the
// order of their names, where the server's order is any.
func Table(l *lua.LState) *lua.LTable {
	t := l.NewTable()
	null := l.NewUserData()
	t.RawSetString("null", null)
	l.SetFuncs(t, map[string]lua.LGFunction{
		"decode": func(l *lua.LState) int {
			value, err := decode(l, null, l.CheckString(1))
			if err != nil {
				l.RaiseError("%s", err.Error())
			}
			l.Push(value)
			return 1
		},
		"encode": func(l *lua.LState) int {
			var out strings.Builder
			if err := encode(&out, null, l.CheckAny(1), 0); err != nil {
				l.RaiseError("%s", err.Error())
			}
			l.Push(lua.LString(out.String()))
			return 1
		},
	})
	return t
}

func decode(l *lua.LState, null lua.LValue, text string) (lua.LValue, error) {
	from := json.NewDecoder(strings.NewReader(text))
	from.UseNumber()
	var value any
	err := from.Decode(&value)
	if err == nil {
		if _, more := from.Token(); more != io.EOF {
			err = fmt.Errorf("Expected the end but found more at character %d", from.InputOffset()+1) //nolint:staticcheck // as the server words it
		}
	}
	if err != nil {
		return nil, err
	}
	return toLua(l, null, value), nil
}

func toLua(l *lua.LState, null lua.LValue, value any) lua.LValue {
	switch v := value.(type) {
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case json.Number:
		n, _ := v.Float64() // one that is out of range is infinite
		return lua.LNumber(n)
	case []any:
		t := l.NewTable()
		for i, item := range v {
			t.RawSetInt(i+1, toLua(l, null, item))
		}
		return t
	case map[string]any:
		t := l.NewTable()
		for _, name := range slices.Sorted(maps.Keys(v)) {
			t.RawSetString(name, toLua(l, null, v[name]))
		}
		return t
	default:
		return null
	}
}

// deepest bounds how deep what is encoded may be, as the server does.
const deepest = 1000

func encode(out *strings.Builder, null, value lua.LValue, depth int) error {
	switch v := value.(type) {
	case lua.LString:
		quote(out, string(v))
	case lua.LNumber:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("Cannot serialise number: must not be NaN or Inf") //nolint:staticcheck // as the server words it
		}
		out.WriteString(strconv.FormatFloat(float64(v), 'g', 14, 64))
	case lua.LBool:
		out.WriteString(v.String())
	case *lua.LTable:
		if depth > deepest {
			return fmt.Errorf("Cannot serialise, excessive depth (%d)", depth) //nolint:staticcheck // as the server words it
		}
		if n := v.Len(); n > 0 {
			return list(out, null, v, n, depth)
		}
		return object(out, null, v, depth)
	default:
		if value != lua.LNil && value != null {
			return fmt.Errorf("Cannot serialise %s: type not supported", value.Type()) //nolint:staticcheck // as the server words it
		}
		out.WriteString("null")
	}
	return nil
}

func list(out *strings.Builder, null lua.LValue, t *lua.LTable, n, depth int) error {
	out.WriteByte('[')
	for i := 1; i <= n; i++ {
		if i > 1 {
			out.WriteByte(',')
		}
		if err := encode(out, null, t.RawGetInt(i), depth+1); err != nil {
			return err
		}
	}
	out.WriteByte(']')
	return nil
}

func object(out *strings.Builder, null lua.LValue, t *lua.LTable, depth int) error {
	fields := map[string]lua.LValue{}
	t.ForEach(func(name, value lua.LValue) { fields[name.String()] = value })
	out.WriteByte('{')
	for i, name := range slices.Sorted(maps.Keys(fields)) {
		if i > 0 {
			out.WriteByte(',')
		}
		quote(out, name)
		out.WriteByte(':')
		if err := encode(out, null, fields[name], depth+1); err != nil {
			return err
		}
	}
	out.WriteByte('}')
	return nil
}

// quote writes a string as the server does: any byte beyond ASCII as it is, and a slash
// with a backslash.
func quote(out *strings.Builder, text string) {
	out.WriteByte('"')
	for _, b := range []byte(text) {
		if i := bytes.IndexByte([]byte("\"\\/\b\f\n\r\t"), b); i >= 0 {
			out.WriteByte('\\')
			out.WriteByte(`"\/bfnrt`[i])
		} else if b < ' ' || b == 0x7f {
			fmt.Fprintf(out, "\\u%04x", b)
		} else {
			out.WriteByte(b)
		}
	}
	out.WriteByte('"')
}

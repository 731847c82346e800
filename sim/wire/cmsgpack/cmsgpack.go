// Package cmsgpack is the table of that name which Redis gives to scripts: MessagePack,
// for those that keep it in a key. It answers as lua-cmsgpack 0.4.0 does, which Redis 7.0
// has.
package cmsgpack

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
	lua "github.com/yuin/gopher-lua"
)

// Table is the table, for one state. Its pack writes the fields of a map in the order of
// their names, where the server's order is any.
func Table(l *lua.LState) *lua.LTable {
	t := l.NewTable()
	l.SetFuncs(t, map[string]lua.LGFunction{
		"pack":         pack,
		"unpack":       func(l *lua.LState) int { return unpack(l, 0, 0) },
		"unpack_one":   func(l *lua.LState) int { return unpack(l, 1, whole(l, 2)) },
		"unpack_limit": func(l *lua.LState) int { return unpack(l, int(l.CheckNumber(2)), whole(l, 3)) },
	})
	for name, text := range map[string]string{
		"_NAME": "cmsgpack", "_VERSION": "lua-cmsgpack 0.4.0", "_COPYRIGHT": "Copyright (C) 2012, Salvatore Sanfilippo", "_DESCRIPTION": "MessagePack C implementation for Lua",
	} {
		t.RawSetString(name, lua.LString(text))
	}
	return t
}

// deepest is how deep what is packed may be: a table within is written as nil.
const deepest = 16

// deepestRead is how deep what is read may be, as far as the server's stack goes.
const deepestRead = 3995

// notANumber is what the server's processor makes of 0/0.
const notANumber = 0xfff8000000000000

func pack(l *lua.LState) int {
	if l.GetTop() == 0 {
		l.ArgError(0, "MessagePack pack needs input.")
	}
	var out bytes.Buffer
	to := msgpack.NewEncoder(&out)
	for i := 1; i <= l.GetTop(); i++ {
		if err := encode(to, l.Get(i), 0); err != nil {
			l.RaiseError("%s", err.Error()) // not of a buffer
		}
	}
	l.Push(lua.LString(out.String()))
	return 1
}

func encode(to *msgpack.Encoder, value lua.LValue, depth int) error {
	switch v := value.(type) {
	case lua.LString:
		return to.EncodeString(string(v))
	case lua.LBool:
		return to.EncodeBool(bool(v))
	case lua.LNumber:
		return number(to, float64(v))
	case *lua.LTable:
		if depth < deepest {
			return table(to, v, depth)
		}
	}
	return to.EncodeNil()
}

func number(to *msgpack.Encoder, n float64) error {
	switch {
	case n == math.Trunc(n) && n >= math.MinInt64 && n < math.MaxInt64:
		return to.EncodeInt(int64(n))
	case n == float64(float32(n)):
		return to.EncodeFloat32(float32(n))
	case n != n:
		return to.EncodeFloat64(math.Float64frombits(notANumber))
	default:
		return to.EncodeFloat64(n)
	}
}

// table writes a list if the keys are 1 to their number, else a map.
func table(to *msgpack.Encoder, t *lua.LTable, depth int) error {
	var keys []lua.LValue
	largest, listed := 0.0, true
	t.ForEach(func(key, _ lua.LValue) {
		n, is := key.(lua.LNumber)
		listed = listed && is && n >= 1 && float64(n) == math.Trunc(float64(n))
		largest = max(largest, float64(n))
		keys = append(keys, key)
	})
	if listed && largest == float64(len(keys)) {
		if err := to.EncodeArrayLen(len(keys)); err != nil {
			return err
		}
		for i := range keys {
			if err := encode(to, t.RawGetInt(i+1), depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	slices.SortFunc(keys, compare)
	err := to.EncodeMapLen(len(keys))
	for _, key := range keys {
		err = cmp.Or(err, encode(to, key, depth+1), encode(to, t.RawGet(key), depth+1))
	}
	return err
}

// compare orders keys by their kind, and then as numbers or texts.
func compare(a, b lua.LValue) int {
	m, isNumber := a.(lua.LNumber)
	n, bothAre := b.(lua.LNumber)
	if isNumber && bothAre {
		return cmp.Compare(m, n)
	}
	return cmp.Or(cmp.Compare(a.Type(), b.Type()), cmp.Compare(a.String(), b.String()))
}

// whole is an argument without its fraction, 0 if there is none.
func whole(l *lua.LState, i int) int {
	if l.Get(i) == lua.LNil {
		return 0
	}
	return int(l.CheckNumber(i))
}

// unpack pushes so many values from the offset on, after the offset behind them, which is
// -1 at the end. Without a limit and an offset it pushes all, and no offset.
func unpack(l *lua.LState, limit, offset int) int {
	text := l.CheckString(1)
	whole := limit == 0 && offset == 0
	switch {
	case limit < 0 || offset < 0:
		l.RaiseError("Invalid request to unpack with offset of %d and limit of %d.", offset, len(text))
	case offset > len(text):
		l.RaiseError("Start offset %d greater than input length %d.", offset, len(text))
	}
	r := &reader{l: l, left: bytes.NewReader([]byte(text[offset:]))}
	r.from = msgpack.NewDecoder(r.left)
	var values []lua.LValue
	for r.left.Len() > 0 && (whole || len(values) < limit) {
		value, err := r.decode(0)
		switch {
		case errors.Is(err, errFormat):
			l.RaiseError("Bad data format in input.")
		case errors.Is(err, errDeep):
			l.RaiseError("stack overflow (in function mp_decode_to_lua_array)")
		case errors.Is(err, errIndex):
			l.Error(lua.LString("table index is nil"), 0)
		case err != nil:
			l.RaiseError("Missing bytes in input.")
		}
		values = append(values, value)
	}
	if !whole {
		behind := len(text) - r.left.Len()
		if r.left.Len() == 0 {
			behind = -1
		}
		values = slices.Insert(values, 0, lua.LValue(lua.LNumber(behind)))
	}
	for _, value := range values {
		l.Push(value)
	}
	return len(values)
}

var (
	errFormat = errors.New("cmsgpack: a kind of value that is not known")
	errIndex  = errors.New("cmsgpack: a key that is nil or no number")
	errDeep   = errors.New("cmsgpack: too many values within each other")
)

// reader reads values from bytes.
type reader struct {
	l    *lua.LState
	from *msgpack.Decoder
	left *bytes.Reader
}

// decode reads one value. An error that is not one of this package means that the bytes
// end before it does.
func (r *reader) decode(depth int) (lua.LValue, error) {
	if depth > deepestRead {
		return nil, errDeep
	}
	code, err := r.from.PeekCode()
	if err != nil {
		return nil, err
	}
	switch {
	case code == msgpcode.Nil:
		return lua.LNil, r.from.DecodeNil()
	case code == msgpcode.True || code == msgpcode.False:
		is, err := r.from.DecodeBool()
		return lua.LBool(is), err
	case code == msgpcode.Float:
		n, err := r.from.DecodeFloat32()
		return lua.LNumber(n), err
	case code == msgpcode.Double:
		n, err := r.from.DecodeFloat64()
		return lua.LNumber(n), err
	case code >= msgpcode.Uint8 && code <= msgpcode.Uint64:
		n, err := r.from.DecodeUint64()
		return lua.LNumber(int64(n)), err // as the server does, which takes it for a signed one
	case msgpcode.IsFixedNum(code), code >= msgpcode.Int8 && code <= msgpcode.Int64:
		n, err := r.from.DecodeInt64()
		return lua.LNumber(n), err
	case msgpcode.IsString(code):
		text, err := r.text()
		return lua.LString(text), err
	case msgpcode.IsFixedArray(code), code == msgpcode.Array16, code == msgpcode.Array32:
		return r.list(depth + 1)
	case msgpcode.IsFixedMap(code), code == msgpcode.Map16, code == msgpcode.Map32:
		return r.fields(depth + 1)
	default:
		return nil, errFormat
	}
}

// text reads a string, if it is all there: a length that is a lie gets no memory.
func (r *reader) text() (string, error) {
	n, err := r.from.DecodeBytesLen()
	if err != nil {
		return "", err
	}
	if n > r.left.Len() {
		return "", bytes.ErrTooLarge
	}
	text := make([]byte, n)
	return string(text), r.from.ReadFull(text)
}

func (r *reader) list(depth int) (lua.LValue, error) {
	n, err := r.from.DecodeArrayLen()
	if err != nil {
		return nil, err
	}
	t := r.l.NewTable()
	for i := range n {
		value, err := r.decode(depth)
		if err != nil {
			return nil, err
		}
		if value != lua.LNil {
			t.RawSetInt(i+1, value)
		}
	}
	return t, nil
}

func (r *reader) fields(depth int) (lua.LValue, error) {
	n, err := r.from.DecodeMapLen()
	if err != nil {
		return nil, err
	}
	t := r.l.NewTable()
	for range n {
		key, err := r.decode(depth)
		if err != nil {
			return nil, err
		}
		value, err := r.decode(depth)
		if err != nil {
			return nil, err
		}
		if number, is := key.(lua.LNumber); key == lua.LNil || is && math.IsNaN(float64(number)) {
			return nil, errIndex
		}
		t.RawSet(key, value)
	}
	return t, nil
}

// Package luastruct is the table struct that Redis gives to scripts: numbers and texts as
// C keeps them in memory. It answers as the struct of Redis 7.0 does on a 64-bit machine
// whose lowest byte comes first.
package luastruct

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Table is the table, for one state.
func Table(l *lua.LState) *lua.LTable {
	t := l.NewTable()
	l.SetFuncs(t, map[string]lua.LGFunction{"pack": pack, "unpack": unpack, "size": size})
	return t
}

// Results are how many values unpack reads by the format, besides the next position.
func Results(format string) int {
	n := 0
	for i := range len(format) {
		switch format[i] {
		case 'b', 'B', 'h', 'H', 'l', 'L', 'T', 'i', 'I', 'f', 'd', 's':
			n++
		case 'c':
			if i+1 == len(format) || format[i+1] != '0' { // c0 takes the place of its length
				n++
			}
		}
	}
	return n
}

// Bounds of what a format may ask for.
const (
	largestInteger = 32 // bytes
	usualAlignment = 8
)

// What is no number is written as the server's processor makes it of 0/0.
const (
	infinity32, noNumber32 = 0x7f800000, 0xffc00000
	infinity64, noNumber64 = 0x7ff0000000000000, 0xfff8000000000000
)

// layout is how far a format has been read, and what its options are.
type layout struct {
	l      *lua.LState
	format string
	order  binary.ByteOrder
	align  int
	at     int // how many bytes came before
}

func newLayout(l *lua.LState) *layout {
	format, _, _ := bytes.Cut([]byte(l.CheckString(1)), []byte{0}) // a text of C ends there
	return &layout{l: l, format: string(format), order: binary.LittleEndian, align: 1}
}

// next takes the next option with its size, and returns how many bytes fill the space
// before it.
func (y *layout) next() (option byte, size, fill int) {
	option, y.format = y.format[0], y.format[1:]
	switch option {
	case 'b', 'B', 'x':
		size = 1
	case 'h', 'H':
		size = 2
	case 'f':
		size = 4
	case 'l', 'L', 'T', 'd':
		size = 8
	case 'c':
		return option, y.number(1), 0
	case 'i', 'I':
		if size = y.number(4); size > largestInteger {
			y.l.RaiseError("integral size %d is larger than limit of %d", size, largestInteger)
		}
	}
	if size > 0 {
		unit := min(size, y.align)
		fill = (unit - y.at&(unit-1)) & (unit - 1)
	}
	return option, size, fill
}

// number is the one that stands next in the format, or the usual one.
func (y *layout) number(usual int) int {
	digits := 0
	for digits < len(y.format) && y.format[digits] >= '0' && y.format[digits] <= '9' {
		digits++
	}
	if digits == 0 {
		return usual
	}
	n, err := strconv.ParseInt(y.format[:digits], 10, 32)
	if err != nil {
		y.l.RaiseError("integral size overflow")
	}
	y.format = y.format[digits:]
	return int(n)
}

// control takes an option that stands for no value.
func (y *layout) control(option byte) {
	switch option {
	case ' ':
	case '>':
		y.order = binary.BigEndian
	case '<':
		y.order = binary.LittleEndian
	case '!':
		n := y.number(usualAlignment)
		if n <= 0 || n&(n-1) != 0 {
			y.l.RaiseError("alignment %d is not a power of 2", n)
		}
		y.align = n
	default:
		y.l.ArgError(1, "invalid format option '"+string(rune(option))+"'")
	}
}

// ordered is the bytes, lowest first, in the layout's order, and the other way round.
func (y *layout) ordered(lowestFirst []byte) []byte {
	if y.order == binary.BigEndian {
		slices.Reverse(lowestFirst)
	}
	return lowestFirst
}

func pack(l *lua.LState) int {
	y := newLayout(l)
	var out []byte
	argument := 1
	for y.format != "" {
		y.at = len(out)
		option, size, fill := y.next()
		out = append(out, make([]byte, fill)...)
		switch option {
		case 'b', 'B', 'h', 'H', 'l', 'L', 'T', 'i', 'I':
			argument++
			value := make([]byte, max(size, 8))
			binary.LittleEndian.PutUint64(value, integer(float64(l.CheckNumber(argument))))
			out = append(out, y.ordered(value[:size])...)
		case 'x':
			out = append(out, 0)
		case 'f':
			argument++
			bits := math.Float32bits(float32(l.CheckNumber(argument)))
			if bits&^(1<<31) > infinity32 {
				bits = noNumber32
			}
			out = append(out, y.ordered(binary.LittleEndian.AppendUint32(nil, bits))...)
		case 'd':
			argument++
			bits := math.Float64bits(float64(l.CheckNumber(argument)))
			if bits&^(1<<63) > infinity64 {
				bits = noNumber64
			}
			out = append(out, y.ordered(binary.LittleEndian.AppendUint64(nil, bits))...)
		case 'c', 's':
			argument++
			text := text(l, argument)
			if size == 0 {
				size = len(text)
			}
			if len(text) < size {
				l.ArgError(argument+1, "string too short")
			}
			if out = append(out, text[:size]...); option == 's' {
				out = append(out, 0)
			}
		default:
			y.control(option)
		}
	}
	l.Push(lua.LString(out))
	return 1
}

// text is an argument as a text. A number becomes one as Lua writes it.
func text(l *lua.LState, i int) string {
	n, is := l.Get(i).(lua.LNumber)
	switch {
	case !is:
		return l.CheckString(i)
	case math.IsNaN(float64(n)):
		return "-nan"
	case math.IsInf(float64(n), 0):
		return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(float64(n), 'g', 14, 64)), "+")
	default:
		return strconv.FormatFloat(float64(n), 'g', 14, 64)
	}
}

// integer is a number without its fraction. Beyond the range it is what processors make
// of it that Redis mostly runs on.
func integer(n float64) uint64 {
	const half = 1 << 63
	switch {
	case n < -half || n != n:
		return half
	case n < half:
		return uint64(int64(n))
	case n-half < half:
		return uint64(n-half) | half
	default:
		return 0
	}
}

func unpack(l *lua.LState) int {
	y := newLayout(l)
	data := l.CheckString(2)
	if l.Get(3) != lua.LNil {
		y.at = int(l.CheckNumber(3)) - 1
	}
	if y.at < 0 {
		l.ArgError(3, "offset must be 1 or greater")
	}
	var values []lua.LValue
	need := func(size int) {
		if size > len(data) || y.at > len(data)-size {
			l.ArgError(2, "data string too short")
		}
	}
	for y.format != "" {
		option, size, fill := y.next()
		y.at += fill
		need(size)
		switch option {
		case 'x':
		case 'c':
			if size == 0 {
				size, values = y.length(values)
				need(size)
			}
			values = append(values, lua.LString(data[y.at:y.at+size]))
		case 's':
			size = bytes.IndexByte([]byte(data[y.at:]), 0) + 1
			if size == 0 {
				l.RaiseError("unfinished string in data")
			}
			values = append(values, lua.LString(data[y.at:y.at+size-1]))
		case 'b', 'B', 'h', 'H', 'l', 'L', 'T', 'i', 'I', 'f', 'd':
			values = append(values, y.decode(option, []byte(data[y.at:y.at+size])))
		default:
			y.control(option)
		}
		y.at += size
	}
	for _, value := range append(values, lua.LNumber(y.at+1)) {
		l.Push(value)
	}
	return len(values) + 1
}

// length takes the length of a text, which is the value before it.
func (y *layout) length(values []lua.LValue) (int, []lua.LValue) {
	if len(values) == 0 {
		y.l.RaiseError("format 'c0' needs a previous size")
	}
	last := len(values) - 1
	n, is := lua.LVAsNumber(values[last]), lua.LVCanConvToString(values[last])
	if text, isText := values[last].(lua.LString); isText {
		_, err := strconv.ParseFloat(string(text), 64)
		is = err == nil
	}
	if !is {
		y.l.RaiseError("format 'c0' needs a previous size")
	}
	return int(min(integer(float64(n)), math.MaxInt64)), values[:last]
}

// decode is the number that the bytes hold.
func (y *layout) decode(option byte, raw []byte) lua.LValue {
	size := len(raw)
	value := make([]byte, max(size, 8))
	copy(value, y.ordered(slices.Clone(raw)))
	bits := binary.LittleEndian.Uint64(value)
	switch option {
	case 'f':
		return lua.LNumber(math.Float32frombits(uint32(bits)))
	case 'd':
		return lua.LNumber(math.Float64frombits(bits))
	case 'B', 'H', 'L', 'T', 'I':
		return lua.LNumber(bits)
	}
	if sign := ^uint64(0) << ((size*8 - 1) & 63); bits&sign != 0 {
		bits |= sign
	}
	return lua.LNumber(int64(bits))
}

func size(l *lua.LState) int {
	y := newLayout(l)
	for y.format != "" {
		option, size, fill := y.next()
		switch {
		case option == 's':
			l.ArgError(1, "option 's' has no fixed size")
		case option == 'c' && size == 0:
			l.ArgError(1, "option 'c0' has no fixed size")
		case option|0x20 >= 'a' && option|0x20 <= 'z', option >= '0' && option <= '9':
		default:
			y.control(option)
		}
		y.at += fill + size
	}
	l.Push(lua.LNumber(y.at))
	return 1
}

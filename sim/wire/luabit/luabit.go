// Package luabit is the table bit that Redis gives to scripts: operations on the low 32
// bits of numbers. It answers as BitOp 1.0.2 does, which Redis 7.0 has.
package luabit

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Table is the table, for one state.
func Table(l *lua.LState) *lua.LTable {
	t := l.NewTable()
	l.SetFuncs(t, map[string]lua.LGFunction{
		"tobit":   one(func(b uint32) uint32 { return b }),
		"bnot":    one(func(b uint32) uint32 { return ^b }),
		"bswap":   one(bits.ReverseBytes32),
		"band":    all(func(a, b uint32) uint32 { return a & b }),
		"bor":     all(func(a, b uint32) uint32 { return a | b }),
		"bxor":    all(func(a, b uint32) uint32 { return a ^ b }),
		"lshift":  shift(func(b uint32, n int) uint32 { return b << n }),
		"rshift":  shift(func(b uint32, n int) uint32 { return b >> n }),
		"arshift": shift(func(b uint32, n int) uint32 { return uint32(int32(b) >> n) }),
		"rol":     shift(bits.RotateLeft32),
		"ror":     shift(func(b uint32, n int) uint32 { return bits.RotateLeft32(b, -n) }),
		"tohex":   hex,
	})
	return t
}

// rounder is 2^52 + 2^51. A number that is added to it has its low 32 bits, rounded, in
// the lowest bits of the sum: that is how BitOp reads a number, whatever its size.
const rounder = 6755399441055744.0

// argument is the i-th argument as bits.
func argument(l *lua.LState, i int) uint32 {
	return uint32(math.Float64bits(float64(l.CheckNumber(i)) + rounder))
}

// give returns the bits as a signed number.
func give(l *lua.LState, b uint32) int {
	l.Push(lua.LNumber(int32(b)))
	return 1
}

func one(f func(uint32) uint32) lua.LGFunction {
	return func(l *lua.LState) int { return give(l, f(argument(l, 1))) }
}

func all(f func(a, b uint32) uint32) lua.LGFunction {
	return func(l *lua.LState) int {
		b := argument(l, 1)
		for i := 2; i <= l.GetTop(); i++ {
			b = f(b, argument(l, i))
		}
		return give(l, b)
	}
}

func shift(f func(b uint32, n int) uint32) lua.LGFunction {
	return func(l *lua.LState) int { return give(l, f(argument(l, 1), int(argument(l, 2)&31))) }
}

// hex is tohex. A negative number of digits asks for capital letters.
func hex(l *lua.LState) int {
	b, digits := argument(l, 1), int64(8)
	if l.GetTop() > 1 {
		digits = int64(int32(argument(l, 2)))
	}
	text := fmt.Sprintf("%08x", b)
	if digits < 0 {
		digits, text = -digits, strings.ToUpper(text)
	}
	l.Push(lua.LString(text[8-min(digits, 8):]))
	return 1
}

package luabit_test

import (
	"testing"

	lua "github.com/yuin/gopher-lua"

	"github.com/recount-io/recount/sim/wire/luabit"
)

// Scripts get what the server gives them; the wanted texts are those of Redis 7.0.
func TestTable(t *testing.T) {
	for script, want := range map[string]string{
		`bit.tobit(2^32 + 5)`: "5", `bit.tobit(1.5)`: "2", `bit.tobit(2.5)`: "2", `bit.tobit(2^31)`: "-2147483648", `bit.tobit(1e100)`: "630506365",
		`bit.bnot(0)`: "-1", `bit.band(7, 3, 9)`: "1", `bit.bor(1, 2, 4)`: "7", `bit.bxor(7, 3)`: "4", `bit.band(7)`: "7",
		`bit.lshift(1, 33)`: "2", `bit.rshift(-8, 28)`: "15", `bit.arshift(-8, 2)`: "-2", `bit.rol(-2147483648, 1)`: "1", `bit.ror(1, 1)`: "-2147483648", `bit.bswap(1)`: "16777216",
		`bit.tohex(255)`: "000000ff", `bit.tohex(255, 4)`: "00ff", `bit.tohex(255, -4)`: "00FF", `bit.tohex(255, 0)`: "", `bit.tohex(255, 20)`: "000000ff", `bit.tohex(-1, -2147483648)`: "FFFFFFFF",
		`tostring(pcall(bit.band))`: "false", `tostring(pcall(bit.lshift, 1))`: "false", `tostring(pcall(bit.tohex, 1, nil))`: "false", `tostring(pcall(bit.tobit, {}))`: "false",
	} {
		l := lua.NewState()
		l.SetGlobal("bit", luabit.Table(l))
		if err := l.DoString("return " + script); err != nil {
			t.Errorf("%s: %v", script, err)
		} else if got := l.Get(-1).String(); got != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
		l.Close()
	}
}

package cmsgpack_test

import (
	"testing"

	lua "github.com/yuin/gopher-lua"

	"github.com/recount-io/recount/sim/wire/cmsgpack"
)

// Scripts get what the server gives them; the wanted texts are those of Redis 7.0.
func TestTable(t *testing.T) {
	for script, want := range map[string]string{
		`return cmsgpack.pack(1, 'a', {1, 2}, 1.5, nil, true)`:                  "\x01\xa1a\x92\x01\x02\xca\x3f\xc0\x00\x00\xc0\xc3",
		`return cmsgpack.pack({id='n1'})`:                                       "\x81\xa2id\xa2n1",
		`return cmsgpack.pack({b=1, a=2, [1]=3})`:                               "\x83\x01\x03\xa1a\x02\xa1b\x01",
		`return cmsgpack.unpack(cmsgpack.pack({id='n1', tags={'a', 'b'}})).id`:  "n1",
		`return table.concat({cmsgpack.unpack('\1\2\3')}, ' ')`:                 "1 2 3",
		`return table.concat({cmsgpack.unpack_one('\1\2\3', 1)}, ' ')`:          "2 2",
		`return table.concat({cmsgpack.unpack_one('\1\2\3', 2)}, ' ')`:          "-1 3",
		`return table.concat({cmsgpack.unpack_limit('\1\2\3', 2)}, ' ')`:        "2 1 2",
		`return table.concat({cmsgpack.unpack_limit('\1\2\3', 0, 0)}, ' ')`:     "1 2 3",
		`return tostring(pcall(cmsgpack.unpack, '\205\1'))`:                     "false",
		`return tostring(pcall(cmsgpack.unpack, '\212\1a'))`:                    "false",
		`return tostring(pcall(cmsgpack.unpack_one, '\1', 2))`:                  "false",
		`return tostring(pcall(cmsgpack.unpack, '\129\192\1'))`:                 "false",
		`return tostring(pcall(cmsgpack.unpack, '\219\255\255\255\255a'))`:      "false",
		`return tostring(pcall(cmsgpack.unpack, string.rep('\145', 9999)))`:     "false",
		`local t = {} t[1] = t return #cmsgpack.pack(t)`:                        "17",
		`return cmsgpack.pack(0/0) == '\203\255\248' .. string.rep('\0', 6)`:    "true",
		`return cmsgpack.pack(2^63) .. cmsgpack.pack(-2^63)`:                    "\xca\x5f\x00\x00\x00\xd3\x80\x00\x00\x00\x00\x00\x00\x00",
		`return cmsgpack.pack({[1]=1, [3]=3}) .. cmsgpack.pack({}) .. #'\196a'`: "\x82\x01\x01\x03\x03\x90" + "2",
	} {
		l := lua.NewState()
		l.SetGlobal("cmsgpack", cmsgpack.Table(l))
		if err := l.DoString(script); err != nil {
			t.Errorf("%s: %v", script, err)
		} else if got := l.Get(-1).String(); got != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
		l.Close()
	}
}

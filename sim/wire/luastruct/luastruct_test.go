package luastruct_test

import (
	"testing"

	lua "github.com/yuin/gopher-lua"

	"github.com/recount-io/recount/sim/wire/luastruct"
)

// Scripts get what the server gives them; the wanted texts are those of Redis 7.0.
func TestTable(t *testing.T) {
	for script, want := range map[string]string{
		`return struct.pack('i3', 5)`:                                         "\x05\x00\x00",
		`return struct.pack('>i16', -5)`:                                      "\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xfb",
		`return struct.pack('!bi', 1, 5)`:                                     "\x01\x00\x00\x00\x05\x00\x00\x00",
		`return struct.pack('>hxs', 258, 'ab')`:                               "\x01\x02\x00ab\x00",
		`return struct.pack('<f>d', 1.5, 1.5)`:                                "\x00\x00\xc0\x3f\x3f\xf8\x00\x00\x00\x00\x00\x00",
		`return table.concat({struct.unpack('i3', '\255\255\255')}, ' ')`:     "-1 4",
		`return table.concat({struct.unpack('Bc0', '\2abc')}, ' ')`:           "ab 4",
		`return table.concat({struct.unpack('s', 'ab\0c')}, ' ')`:             "ab 4",
		`return table.concat({struct.unpack('>H', 'x\1\2', 2)}, ' ')`:         "258 4",
		`return struct.size('!bi') .. ' ' .. struct.size('c5x')`:              "8 6",
		`return tostring(pcall(struct.unpack, 's', 'ab'))`:                    "false",
		`return tostring(pcall(struct.unpack, 'c0', 'ab'))`:                   "false",
		`return tostring(pcall(struct.unpack, 'bc0', '\255ab'))`:              "false",
		`return tostring(pcall(struct.unpack, 'b', 'a', 0))`:                  "false",
		`return tostring(pcall(struct.size, 's'))`:                            "false",
		`return tostring(pcall(struct.size, '!3'))`:                           "false",
		`return tostring(pcall(struct.pack, 'c3', 'ab'))`:                     "false",
		`return tostring(pcall(struct.pack, 'i33', 1))`:                       "false",
		`return tostring(pcall(struct.pack, 'i99999999999', 1))`:              "false",
		`return struct.pack('l', 0/0) .. struct.pack('L', 2^64)`:              "\x00\x00\x00\x00\x00\x00\x00\x80\x00\x00\x00\x00\x00\x00\x00\x00",
		`return struct.pack('L', 2^64 - 2048) .. struct.pack('>h', '7') `:     "\x00\xf8\xff\xff\xff\xff\xff\xff\x00\x07",
		`return struct.pack('>d', 0/0) .. struct.pack('>f', 0/0) .. 'behind'`: "\xff\xf8\x00\x00\x00\x00\x00\x00\xff\xc0\x00\x00behind",
	} {
		l := lua.NewState()
		l.SetGlobal("struct", luastruct.Table(l))
		if err := l.DoString(script); err != nil {
			t.Errorf("%s: %v", script, err)
		} else if got := l.Get(-1).String(); got != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
		l.Close()
	}
}

// A format says how many values are read by it.
func TestResults(t *testing.T) {
	for format, want := range map[string]int{"": 0, "i4c0": 1, ">bBhHlLTfd": 9, "!4 ixs": 2, "c10c1c": 3} {
		if got := luastruct.Results(format); got != want {
			t.Errorf("%q: %d, want %d", format, got, want)
		}
	}
}

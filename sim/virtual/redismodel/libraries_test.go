package redismodel

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// show is a function of Lua that makes a text of whatever a function returns, to the last
// bit of a number. Of an error it only says that it is one: its text names the interpreter.
const show = `local function show(v)
  if type(v) == 'number' then
    if v ~= v then return 'nan' end
    if v == 1/0 then return 'inf' end
    if v == -1/0 then return '-inf' end
    return string.format('%.17g', v)
  end
  if type(v) ~= 'table' then return type(v) .. ' ' .. tostring(v) end
  local parts = {}
  for key, value in pairs(v) do parts[#parts + 1] = show(key) .. '=' .. show(value) end
  table.sort(parts)
  return '{' .. table.concat(parts, ',') .. '}'
end
local function all(ok, ...)
  if not ok then return 'an error' end
  local parts = {tostring(select('#', ...))}
  for i = 1, select('#', ...) do parts[#parts + 1] = show((select(i, ...))) end
  return table.concat(parts, ';')
end
return all(pcall(function() return `

// quoted is the text as Lua has it in its source.
func quoted(text string) string {
	var out strings.Builder
	out.WriteByte('\'')
	for _, b := range []byte(text) {
		fmt.Fprintf(&out, "\\%03d", b)
	}
	return out.String() + "'"
}

// someNumbers are those at which an encoding changes. -0 is none of them: in Lua 5.1 it may
// take the place of another 0 of the same script.
var someNumbers = []string{
	"0", "1", "31", "32", "127", "128", "255", "256", "65535", "65536", "2^31", "2^32-1", "2^32", "2^53", "2^53+2", "2^62", "2^63", "2^64-2048", "2^64", "2^70", "1e100", "1e300", "1/0",
	"-1", "-32", "-33", "-128", "-129", "-32768", "-32769", "-2^31", "-2^31-1", "-2^63", "-2^64", "-1e100", "-1/0", "0/0", "0.5", "1.5", "2.5", "-1.5", "0.1", "1/3", "16777217.5", "3.4e38", "3.5e38", "1e-45", "2^52+0.5",
}

func drawNumber(t *rapid.T) string {
	switch rapid.IntRange(0, 3).Draw(t, "number") {
	case 0:
		return strconv.FormatInt(int64(rapid.Int32().Draw(t, "n")), 10)
	case 1:
		return strconv.FormatFloat(rapid.Float64().Draw(t, "x")+0, 'g', 17, 64)
	default:
		return pick(t, someNumbers)
	}
}

func drawBytes(t *rapid.T) string {
	if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
		return strings.Repeat("x", rapid.SampledFrom([]int{31, 32, 255, 256, 65535, 65536}).Draw(t, "length"))
	}
	return string(rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "bytes"))
}

// drawValue draws a value of Lua. Of fields the server writes in an order of its own there
// is one at the most, unless several are asked for.
func drawValue(t *rapid.T, depth int, several bool) string {
	kinds := 6
	if depth > 3 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds).Draw(t, "kind") {
	case 0, 1:
		return drawNumber(t)
	case 2, 3:
		return quoted(drawBytes(t))
	case 4:
		return pick(t, []string{"true", "false", "nil"})
	case 5:
		n := rapid.SampledFrom([]int{0, 1, 2, 3, 15, 16, 17}).Draw(t, "items")
		parts := make([]string, n)
		for i := range parts {
			if parts[i] = "7"; i < 3 {
				parts[i] = drawValue(t, depth+1, several)
			}
			if parts[i] == "nil" {
				parts[i] = "false" // which of the items behind it count, nobody can say
			}
		}
		return "{" + strings.Join(parts, ",") + "}"
	default:
		n := 1
		if several {
			n = rapid.IntRange(0, 17).Draw(t, "fields")
		}
		parts := make([]string, n)
		for i := range parts {
			key := pick(t, []string{"'f'", "'1'", "1", "2", "-1", "0", "1.5", "true", quoted(strconv.Itoa(i)), quoted(drawBytes(t))})
			parts[i] = "[" + key + "]=" + drawValue(t, depth+1, several)
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
}

// someCodes begin each kind of value in MessagePack.
var someCodes = []byte{
	0x00, 0x7f, 0x80, 0x81, 0x8f, 0x90, 0x91, 0x92, 0x9f, 0xa0, 0xa1, 0xa5, 0xbf, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcc, 0xcd, 0xce, 0xcf,
	0xd0, 0xd1, 0xd2, 0xd3, 0xd4, 0xd8, 0xd9, 0xda, 0xdb, 0xdc, 0xdd, 0xde, 0xdf, 0xe0, 0xff,
}

// drawMessage draws what may be MessagePack.
func drawMessage(t *rapid.T) string {
	return string(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(someCodes), rapid.ByteRange(0, 3), rapid.Byte()), 0, 14).Draw(t, "message"))
}

func drawFormat(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
		"b", "B", "h", "H", "l", "L", "T", "i", "I", "i1", "I2", "i3", "I3", "i4", "i7", "I8", "i8", "i9", "i16", "I16", "i32", "i33", "i0", "f", "d", "s", "c", "c0", "Bc0", "dc0", "c1", "c3", "x", " ",
		">", "<", "!", "!1", "!2", "!3", "!4", "!8", "!16", "!0", "=", "z", "5", "i99999999999", "\x00b",
	}), 0, 6).Draw(t, "format"), "")
}

// drawArguments draws numbers, texts that are none, and what may be taken for one.
func drawArguments(t *rapid.T, n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = rapid.OneOf(rapid.Custom(drawNumber), rapid.Custom(func(t *rapid.T) string { return quoted("x" + drawBytes(t)) }), rapid.SampledFrom([]string{"'7'", "'0x10'", "{}", "true"})).Draw(t, "argument")
	}
	return strings.Join(parts, ",")
}

// drawLibrary draws a call of a library's function.
func drawLibrary(t *rapid.T) string {
	some := func(most int) string { return drawArguments(t, rapid.IntRange(0, most).Draw(t, "arguments")) }
	offset := func() string { return pick(t, []string{"0", "1", "2", "3", "-1", "100", "1.7", "'2'", "nil"}) }
	switch rapid.IntRange(0, 9).Draw(t, "function") {
	case 0, 1:
		return "cmsgpack.pack(" + drawValue(t, 0, false) + "," + drawValue(t, 0, false) + ")"
	case 2:
		return "cmsgpack.unpack(cmsgpack.pack(" + drawValue(t, 0, true) + "))"
	case 3:
		return "cmsgpack.unpack(" + quoted(drawMessage(t)) + ")"
	case 4:
		return pick(t, []string{"cmsgpack.unpack_one(", "cmsgpack.unpack_limit("}) + quoted(drawMessage(t)) + "," + offset() + "," + offset() + ")"
	case 5:
		return "struct.pack(" + strings.Join([]string{quoted(drawFormat(t)), drawArguments(t, rapid.IntRange(1, 6).Draw(t, "arguments"))}, ",") + ")"
	case 6:
		return "struct.unpack(" + quoted(drawFormat(t)) + "," + quoted(drawBytes(t)+drawBytes(t)) + pick(t, []string{"", "", ",1", ",2", ",0", ",100"}) + ")"
	case 7:
		return "struct.size(" + quoted(drawFormat(t)) + ")"
	case 8:
		return "bit." + pick(t, []string{"tobit", "tohex", "bnot", "band", "bor", "bxor", "bswap"}) + "(" + some(3) + ")"
	default:
		return "bit." + pick(t, []string{"lshift", "rshift", "arshift", "rol", "ror"}) + "(" + drawNumber(t) + "," + drawNumber(t) + ")"
	}
}

// The libraries cmsgpack, struct and bit answer what those of a real server answer, to the
// byte, whatever they are asked.
func TestLibraries(t *testing.T) {
	real, model := startReal(t), New(Options{})
	failed := 0
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			text := show + drawLibrary(t) + " end))"
			want := real.do(t, "EVAL", text, "0").String()
			if got := model.Do(benchNow, "EVAL", text, "0").String(); got != want {
				t.Errorf("%s\nthe model says %s\nthe server    %s", strings.TrimPrefix(text, show), got, want)
			}
			if strings.Contains(want, "an error") {
				failed++
			}
		}
	})
	t.Logf("%d calls were errors", failed)
}

// Each library has the functions that a real server's has, and nobody changes them.
func TestLibrariesAreWhole(t *testing.T) {
	real, model := startReal(t), New(Options{})
	for _, library := range []string{"cmsgpack", "struct", "bit"} {
		want := real.do(t, "EVAL", "local t = {} for name in pairs("+library+") do t[#t + 1] = name end table.sort(t) return t", "0")
		for _, name := range want.Items {
			text := fmt.Sprintf("return type(%s.%s)", library, name.Text)
			if got, want := model.Do(benchNow, "EVAL", text, "0").String(), real.do(t, "EVAL", text, "0").String(); got != want {
				t.Errorf("%s: the model says %s, the server %s", text, got, want)
			}
		}
		if len(want.Items) == 0 {
			t.Errorf("%s has no functions: %v", library, want)
		}
		if got := model.Do(benchNow, "EVAL", library+".x = 1", "0"); !got.Failed() {
			t.Errorf("%s can be changed: %v", library, got)
		}
	}
}

// What lies deeper than the server goes is refused, or left out.
func TestLibrariesAreBounded(t *testing.T) {
	real, model := startReal(t), New(Options{})
	for _, call := range []string{
		`cmsgpack.unpack(string.rep('\145', 100000) .. '\1')`, `#cmsgpack.unpack(string.rep('\145', 3000) .. '\1')`, `cmsgpack.unpack('\221\255\255\255\255')`, `cmsgpack.unpack('\219\255\255\255\255x')`,
		`(function() local t = {} for i = 1, 20 do t = {t} end return cmsgpack.pack(t) end)()`, `(function() local t = {} t[1] = t return cmsgpack.pack(t) end)()`, `cmsgpack.pack()`,
		`(function() local t = {} for i = 1, 70000 do t[i] = 1 end return #cmsgpack.pack(t) end)()`, `cmsgpack.pack(function() end)`, `cmsgpack.unpack({})`, `cmsgpack.unpack(12)`,
	} {
		text := show + call + " end))"
		if got, want := model.Do(benchNow, "EVAL", text, "0").String(), real.do(t, "EVAL", text, "0").String(); got != want {
			t.Errorf("%s: the model says %s, the server %s", call, got, want)
		}
	}
}

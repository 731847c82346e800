package cjson_test

import (
	"testing"

	lua "github.com/yuin/gopher-lua"

	"github.com/recount-io/recount/sim/wire/cjson"
)

// Scripts get what the server gives them; the wanted texts are those of Redis 7.0.
func TestTable(t *testing.T) {
	for script, want := range map[string]string{
		`return cjson.decode('{"id":"n1","until":17.5,"tags":["a","b"]}').tags[2]`: "b",
		`return tostring(cjson.decode('{"a":null}').a == cjson.null)`:              "true",
		`return cjson.encode({id='n/1', n=3, on=true})`:                            `{"id":"n\/1","n":3,"on":true}`,
		`return cjson.encode({1, 'two', {}})`:                                      `[1,"two",{}]`,
		`return cjson.encode(1751234567890)`:                                       `1751234567890`,
		`return tostring(pcall(cjson.decode, 'n1 and more'))`:                      "false",
		`return tostring(pcall(cjson.decode, '{} {}'))`:                            "false",
		`return tostring(pcall(cjson.encode, print))`:                              "false",
	} {
		l := lua.NewState()
		l.SetGlobal("cjson", cjson.Table(l))
		if err := l.DoString(script); err != nil {
			t.Errorf("%s: %v", script, err)
		} else if got := l.Get(-1).String(); got != want {
			t.Errorf("%s: %s, want %s", script, got, want)
		}
		l.Close()
	}
}

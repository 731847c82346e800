package fuzz

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// saveFailFile lets rapid save the case that is drawn from seed, as a property
// test does that fails.
func saveFailFile(t *testing.T, seed string) (path string, c Case) {
	t.Helper()
	t.Chdir(t.TempDir())
	driving.Lock()
	defer driving.Unlock()
	defer set("rapid.seed", seed)()
	defer set("rapid.shrinktime", "0s")()
	defer set("rapid.nofailfile", "false")()
	inGoroutine(func() {
		rapid.Check(&silent{}, func(t *rapid.T) {
			c = Cases(Pins{Subject: "recount"}, nil).Draw(t, "case")
			t.Fatalf("it fails")
		})
	})
	files, err := filepath.Glob(filepath.Join("testdata", "rapid", "*", "*.fail"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	return files[0], c
}

// What a property test has saved is the very case that it drew.
func TestFailFile(t *testing.T) {
	for _, seed := range []string{"1", "77", "1000003"} {
		t.Run(seed, func(t *testing.T) {
			path, want := saveFailFile(t, seed)
			got, err := FromFailFile(path)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%v\n%#v\nwant\n%#v", err, got, want)
			}
		})
	}
}

// A file that no longer applies says so in one line: one of another rapid, one
// of other generators, one that was cut off, and what is no such file at all.
func TestStaleFailFiles(t *testing.T) {
	path, _ := saveFailFile(t, "5")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for name, stale := range map[string]string{
		"another version": strings.Replace(string(text), "\nv", "\nv9", 1),
		"other draws":     strings.Replace(string(text), `"lease":`, `"leash":`, 1),
		"cut off":         strings.Join(lines[:len(lines)/2], "\n"),
		"fewer draws":     strings.Join(lines[:len(lines)-2], "\n"),
		"no number":       string(text) + "\nhello",
		"no fail file":    "hello",
		"empty":           "",
	} {
		other := filepath.Join(t.TempDir(), "other.fail")
		if err := os.WriteFile(other, []byte(stale), 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := FromFailFile(other); err == nil || !strings.Contains(err.Error(), "no longer applies") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, %#v", name, err, c)
		}
	}
	if _, err := FromFailFile(filepath.Join(t.TempDir(), "none.fail")); err == nil {
		t.Error("a file that is not there is read")
	}
}

// The flags of rapid are as they were when a search is over.
func TestFlagsAreRestored(t *testing.T) {
	names := []string{"rapid.seed", "rapid.checks", "rapid.nofailfile", "rapid.shrinktime", "rapid.failfile"}
	values := func() string {
		var all []string
		for _, name := range names {
			all = append(all, flag.Lookup(name).Value.String())
		}
		return strings.Join(all, " ")
	}
	before := values()
	path, _ := saveFailFile(t, "9")
	if _, err := FromFailFile(path); err != nil {
		t.Fatal(err)
	}
	calls := 0
	shrinkDraws(Cases(Pins{Subject: "recount"}, nil), 3, func(*Case) bool { calls++; return true }, func() bool { return calls > 2 })
	if after := values(); after != before {
		t.Errorf("the flags were %q and are %q", before, after)
	}
}

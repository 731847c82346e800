package elector_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/elector"
)

// Jumps of the wall clock have no effect, because nothing in the elector ever
// asks it: no source file of the elector, the machine or the store in memory
// calls the parts of package time that do, or waits on them. Three files may call
// time.Now. One says in it when a request's context ends, as package context does, and
// one has no other clock: both use the monotonic part. The third one, Linux's, looks at the wall clock for one purpose: that it has gone on as the
// monotonic clock has shows that the machine was not suspended, and that it has
// not is a reason to ask the kernel. No time of the wall clock's reaches anybody:
// what it does there when it jumps, TestBootClockInterrupted shows.
func TestWallClockIsNeverAsked(t *testing.T) {
	wall := []string{"Now", "Since", "Until", "Sleep", "After", "Tick", "NewTimer", "NewTicker"}
	allowed := map[string][]string{
		"clock_other.go": {"Now", "Since"},
		"clock_linux.go": {"Now"},
		"lean.go":        {"Now"},
	}
	for _, dir := range []string{".", "memstore", "storetest", "../internal/machine"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, error %v", dir, len(files), err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, name := range timeCalls(t, file) {
				if slices.Contains(wall, name) && !(dir == "." && slices.Contains(allowed[file], name)) {
					t.Errorf("%s calls time.%s", file, name)
				}
			}
		}
	}
}

// timeCalls returns the names of package time that a file uses.
func timeCalls(t *testing.T, file string) (names []string) {
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, src, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "time" {
				names = append(names, sel.Sel.Name)
			}
		}
		return true
	})
	return names
}

// The system's clock goes forward at the pace of the monotonic clock, and its
// timers fire once.
func TestSystemClock(t *testing.T) {
	clock := elector.SystemClock()
	began, monotonic := clock.Now(), time.Now()
	fired := make(chan struct{}, 2)
	clock.AfterFunc(20*time.Millisecond, func() { fired <- struct{}{} })
	never := clock.AfterFunc(time.Hour, func() { t.Error("a stopped timer fired") })
	<-fired
	if !never.Stop() {
		t.Error("Stop of a pending timer says no")
	}
	passed, want := clock.Now()-began, time.Since(monotonic)
	if passed < 20*time.Millisecond || (passed-want).Abs() > 20*time.Millisecond {
		t.Errorf("%v passed, %v on Go's own clock", passed, want)
	}
}

package fencefile

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is also the child that the crash tests kill.
func TestMain(m *testing.M) {
	if os.Getenv("RECOUNT_FENCE_CHILD") != "" {
		child(os.Args[1:])
	}
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

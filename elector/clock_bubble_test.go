package elector

import (
	"context"
	"runtime"
	"runtime/pprof"
	"testing"
	"testing/synctest"
)

// A goroutine is known to be in a bubble however much is said of it, and also if another
// one of the bubble has started it. Outside it is not, whatever its labels say.
func TestInBubble(t *testing.T) {
	for _, labels := range []string{"0", "1"} {
		t.Setenv("GODEBUG", "tracebacklabels="+labels)
		pprof.Do(t.Context(), pprof.Labels("job", "x, synctest bubble 1", "other", "] {["), func(context.Context) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			if inBubble() {
				t.Errorf("outside of bubbles, and taken for inside: %s", goroutineHead())
			}
			synctest.Test(t, func(t *testing.T) {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				if !inBubble() {
					t.Errorf("not known to be in a bubble: %s", goroutineHead())
				}
				started := make(chan bool)
				go func() { started <- inBubble() }()
				if !<-started {
					t.Error("started in a bubble, and not known to be in one")
				}
			})
		})
	}
}

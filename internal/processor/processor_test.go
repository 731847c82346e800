//go:build unix

package processor

import (
	"os/exec"
	"testing"
	"time"
)

// TestChildrenCount shows that what a child has used counts once it was waited for, and that
// it is none of this process's own.
func TestChildrenCount(t *testing.T) {
	own, all := Time(), WithChildren()
	if err := exec.Command("sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done").Run(); err != nil {
		t.Skip("SKIPPED: no shell: ", err)
	}
	if child := (WithChildren() - all) - (Time() - own); child < 10*time.Millisecond {
		t.Errorf("the child used %v, want some hundredths of a second", child)
	}
}

package bubbletest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A bubble in which something goes round and round ends its process, and says which it
// was.
func TestLimit(t *testing.T) {
	const inside = "RECOUNT_IN_LIMIT"
	if os.Getenv(inside) != "" {
		most = 200 * time.Millisecond
		Run(t, 4711, func(*testing.T) {
			for rounds := 0; ; rounds++ {
				_ = rounds
			}
		})
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestLimit$", "-test.timeout=1m")
	cmd.Env = append(os.Environ(), inside+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "panic: bubble 4711 has used") {
		t.Errorf("%v\n%s", err, out)
	}
}

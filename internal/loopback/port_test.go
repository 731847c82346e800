package loopback

import "testing"

// A port that was given is not given again soon: its server may be down for a moment, and
// comes back to it.
func TestFreePortIsGivenOnce(t *testing.T) {
	given := map[int]bool{}
	for range remembered {
		port, err := FreePort()
		if err != nil {
			t.Fatal(err)
		}
		if given[port] {
			t.Fatalf("port %d was given twice among %d", port, len(given)+1)
		}
		given[port] = true
	}
}

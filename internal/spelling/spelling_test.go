package spelling

import "testing"

// A slip of some letters and a part of a name are taken for the name, and anything else
// for none.
func TestSuggest(t *testing.T) {
	names := []string{"auto", "embedded", "process", "crash-leader", "crash-follower", "crash-all", "crash-two"}
	for given, want := range map[string][2]string{
		"embdded":   {"did you mean embedded?", " (did you mean embedded?)"},
		"Process":   {"did you mean process?", " (did you mean process?)"},
		"crash-":    {"did you mean crash-leader or crash-follower or crash-all or crash-two?", " (did you mean crash-leader or crash-follower or crash-all?)"},
		"memcached": {"give one of auto, embedded, process, crash-leader, crash-follower, crash-all, crash-two", ""},
		"":          {"give one of auto, embedded, process, crash-leader, crash-follower, crash-all, crash-two", ""},
	} {
		if got := [2]string{Suggest(given, names), Hint(given, names)}; got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}

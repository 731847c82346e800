package drawn

import "testing"

// What says neither how many cases nor from which on is refused.
func TestParse(t *testing.T) {
	for _, one := range []struct {
		text     string
		first, n uint64
		ok       bool
	}{
		{"", 0, 0, true},
		{"300", 0, 300, true},
		{"1+18446744073709551615", 1<<64 - 1, 1, true},
		{"0", 0, 0, false},
		{"-1", 0, 0, false},
		{"many", 0, 0, false},
		{"300+", 0, 300, false},
		{"+5", 0, 0, false},
		{"3x100", 0, 0, false},
	} {
		first, n, ok := parse(one.text)
		if ok != one.ok || ok && (first != one.first || n != one.n) {
			t.Errorf("%q is read as %d from %d on, %v", one.text, n, first, ok)
		}
	}
}

// Cases asked for by nobody are those that the caller wants, in full or a few.
func TestCases(t *testing.T) {
	t.Setenv("RECOUNT_CASES", "7+8")
	if first, n, err := Cases(3, 2); err != nil || first != 8 || n != 7 {
		t.Errorf("%d from %d on, %v", n, first, err)
	}
	t.Setenv("RECOUNT_CASES", "")
	if first, n, err := Cases(3, 2); err != nil || first != 0 || n != 3 && n != 2 {
		t.Errorf("%d from %d on, %v", n, first, err)
	}
	t.Setenv("RECOUNT_CASES", "many")
	if _, _, err := Cases(3, 2); err == nil {
		t.Error("many is taken for a number")
	}
}

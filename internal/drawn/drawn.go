// Package drawn says which cases a test takes that draws them from numbers.
package drawn

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/recount-io/recount/internal/race"
)

// variable is the one environment variable for all tests: go test -run chooses among them.
const variable = "RECOUNT_CASES"

// Asked reports whether RECOUNT_CASES is set: somebody wants a campaign, and has the time.
func Asked() bool { return os.Getenv(variable) != "" }

// Cases is which cases a test takes that can take any number of them: so many, from a
// number on. RECOUNT_CASES says it, as in "300", or "1+4711" for the one that a failure
// named. Without it they are full many, from 0 on, or few with the race detector,
// which shows little where one goroutine runs at a time. Anything else that the
// variable says is an error.
func Cases(full, few uint64) (first, n uint64, err error) {
	first, n, ok := parse(os.Getenv(variable))
	switch {
	case !ok:
		return 0, 0, fmt.Errorf("%s is %q: say how many cases, as in 300, or 300+1000 for 300 from number 1000 on", variable, os.Getenv(variable))
	case n == 0 && race.Enabled:
		n = few
	case n == 0:
		n = full
	}
	return first, n, nil
}

// parse reads how many cases are wanted. No text wants none in particular.
func parse(text string) (first, n uint64, ok bool) {
	if text == "" {
		return 0, 0, true
	}
	count, from, more := strings.Cut(text, "+")
	n, err := strconv.ParseUint(count, 10, 32)
	if err != nil || n == 0 {
		return 0, 0, false
	}
	if more {
		first, err = strconv.ParseUint(from, 10, 64)
	}
	return first, n, err == nil
}

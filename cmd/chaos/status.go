package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"syscall"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/reports"
	"github.com/recount-io/recount/sim/live"
	"github.com/recount-io/recount/sim/live/network"
	"github.com/recount-io/recount/sim/live/redisserver"
)

// The exit statuses.
const (
	statusKept      = 0  // every promise kept
	statusBroken    = 1  // a promise broken
	statusUndecided = 2  // a verdict is unknown, or a fault did not take effect
	statusStopped   = 3  // stopped early and healed
	statusUsage     = 64 // wrong use or bad input
	statusFailed    = 70 // the tool itself failed
)

// verdictError carries a verdict that is not pass to the exit status. It has
// been reported already.
type verdictError struct{ verdict checker.Verdict }

func (e *verdictError) Error() string { return "the verdict is " + e.verdict.String() }

// status is the exit status for an error.
func status(err error) int {
	var (
		wrong     *usage.Error
		decided   *verdictError
		redis     *redisserver.Error
		candidate *live.CandidateError
		format    *history.FormatError
		path      *fs.PathError
	)
	switch {
	case err == nil:
		return statusKept
	case errors.Is(err, context.Canceled):
		return statusStopped
	case errors.As(err, &wrong), errors.As(err, &redis), errors.As(err, &candidate), errors.As(err, &format),
		errors.Is(err, network.ErrNoToxiproxy):
		return statusUsage
	case errors.As(err, &decided) && decided.verdict == checker.Fail:
		return statusBroken
	case decided != nil:
		return statusUndecided
	case errors.As(err, &path) && !errors.Is(err, syscall.ENOSPC):
		return statusUsage
	default:
		return statusFailed
	}
}

// explain is the one line that a person gets to read about an error, or "" if
// the error has been reported already.
func explain(err error) string {
	var decided *verdictError
	if err == nil || errors.As(err, &decided) {
		return ""
	}
	if text, is := harmed(err); is {
		return reports.Redact(usage.FirstLine(text))
	}
	if errors.Is(err, context.Canceled) {
		return "stopped early; everything was healed"
	}
	text := err.Error()
	if errors.Is(err, syscall.ENOSPC) {
		text += "; free some space, or choose another place with --out"
	}
	return reports.Redact(usage.FirstLine(wrongType.ReplaceAllStringFunc(text, unlikeJSON)))
}

// wrongType is how encoding/json says that a value has another type than was expected.
var wrongType = regexp.MustCompile(`json: cannot unmarshal (\w+) into Go (?:struct field \w+\.(\S+)|value) of type [^ ;)]+`)

// unlikeJSON says the same without Go's names.
func unlikeJSON(text string) string {
	words := wrongType.FindStringSubmatch(text)
	if words[2] == "" {
		return fmt.Sprintf("the JSON is of another kind: %s", words[1])
	}
	return fmt.Sprintf("%q has a value of another kind: %s", words[2], words[1])
}

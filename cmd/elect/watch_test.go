package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/settings"
)

// moody is a store that gives no answer to some questions.
type moody struct {
	*memstore.Store
	asked  int
	silent func(asked int) bool
	stop   context.CancelFunc // after the sixth question
}

func (m *moody) Leader(ctx context.Context, election string) (elector.Leader, error) {
	if m.asked++; m.asked == 6 {
		m.stop()
	}
	if m.silent(m.asked) {
		return elector.Leader{}, errors.New("no route to host")
	}
	return m.Store.Leader(ctx, election)
}

// A store that is away is told once, and once more after it has answered.
func TestWatchTellsAnErrorOnce(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var out bytes.Buffer
	s := settings.Settings{Election: "billing", Store: []string{"redis://a"}}
	store := &moody{Store: memstore.New(memstore.Options{}), silent: func(asked int) bool { return asked != 3 }, stop: stop}
	if err := (Main{Stdout: &out}).watch(ctx, &options{timeout: time.Second}, s, store); err != nil {
		t.Fatal(err)
	}
	if reported, nobody := strings.Count(out.String(), "no route to host"), strings.Count(out.String(), "nobody leads"); reported != 2 || nobody != 1 {
		t.Errorf("the error is told %d times, and the answer %d times, want 2 and 1:\n%s", reported, nobody, &out)
	}
}

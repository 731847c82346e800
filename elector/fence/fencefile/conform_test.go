package fencefile

import (
	"context"
	"path/filepath"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/recount-io/recount/elector/fence"
	"github.com/recount-io/recount/elector/internal/guardtest"
)

// guards are the ways to write a file, each as something that makes new resources.
var guards = []struct {
	name  string
	maker func(t *testing.T) func() guardtest.Resource
}{
	{"File.Check", filed(File.Check)},
	{"File.Append", filed(func(f File, ctx context.Context, token uint64) error { return f.Append(ctx, token, []byte("x")) })},
	{"File.Replace", filed(func(f File, ctx context.Context, token uint64) error { return f.Replace(ctx, token, []byte("x")) })},
}

func filed(write func(File, context.Context, uint64) error) func(*testing.T) func() guardtest.Resource {
	return func(t *testing.T) func() guardtest.Resource {
		folder, n := t.TempDir(), 0
		return func() guardtest.Resource {
			n++
			f := File{Path: filepath.Join(folder, strconv.Itoa(n))}
			return guardtest.Resource{
				Write:   func(token uint64) error { return write(f, t.Context(), token) },
				Highest: func() (uint64, error) { return f.Highest(t.Context()) },
			}
		}
	}
}

// suite reads this package's refusals.
var suite = guardtest.Refusing(fence.ErrNoToken, func(e *fence.StaleError) (token, highest uint64) { return e.Token, e.Highest })

// A file answers to the same tokens as every other guard.
func TestFilesAnswerAsGuardsDo(t *testing.T) {
	for _, guard := range guards {
		t.Run(guard.name, func(t *testing.T) { suite.Alike(t, guard.maker(t)) })
	}
}

// Whatever the sequence of tokens, a file answers as the oracle does, which is one number.
func TestFilesAgreeWithTheOracle(t *testing.T) {
	tokens := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(guardtest.Edges), rapid.Uint64Range(1, 120), rapid.Uint64Min(1)), 1, 8)
	for _, guard := range guards {
		t.Run(guard.name, func(t *testing.T) {
			fresh := guard.maker(t)
			rapid.Check(t, func(r *rapid.T) { suite.Agree(r, fresh(), tokens.Draw(r, "tokens")) })
		})
	}
}

func wantStale(t *testing.T, err error, token, highest uint64) {
	t.Helper()
	if got, was, stale := suite.Stale(err); !stale || got != token || was != highest {
		t.Errorf("%v, want token %d refused for %d", err, token, highest)
	}
}

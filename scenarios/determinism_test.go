package scenarios_test

import (
	"bytes"
	"crypto/sha256"
	"runtime"
	"sync"
	"testing"

	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim/virtual"
)

// TestSameSeedSameBytes shows that a seed decides a run in virtual time to the
// byte: alone on one core, and beside others on several.
func TestSameSeedSameBytes(t *testing.T) {
	n := seeds(200)
	first := digests(t, n, 1)
	second := digests(t, n, 4)
	distinct := map[[sha256.Size]byte]bool{}
	for seed := range first {
		if first[seed] != second[seed] {
			t.Errorf("seed %d gives two histories", seed)
		}
		distinct[first[seed]] = true
	}
	if len(distinct) != n {
		t.Errorf("%d seeds give only %d histories", n, len(distinct))
	}
}

// digests are those of the histories of n seeds, made by so many at once, in
// another order each time.
func digests(t *testing.T, n, atOnce int) [][sha256.Size]byte {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(atOnce))
	all := make([][sha256.Size]byte, n)
	var workers sync.WaitGroup
	for worker := range atOnce {
		workers.Go(func() {
			for seed := n - 1 - worker; seed >= 0; seed -= atOnce {
				all[seed] = digest(t, uint64(seed))
			}
		})
	}
	workers.Wait()
	return all
}

// digest is that of one seed's whole history: random faults on an elector of
// either kind, for production's machine and coroutines are two ways to run.
func digest(t *testing.T, seed uint64) [sha256.Size]byte {
	world := &virtual.World{Subjects: map[string]virtual.Subject{"plain": {Blocking: plain{}.run}}}
	found, err := scenarios.Find("mixed")
	if err != nil {
		t.Error(err)
		return [sha256.Size]byte{}
	}
	subject := "recount"
	if seed%4 == 3 {
		subject = "plain"
	}
	plan, err := found[0].Plan(scenarios.Settings{Subject: subject, Seed: seed})
	if err != nil {
		t.Error(err)
	}
	h, err := world.Run(t.Context(), plan, "")
	if err != nil {
		t.Error(err)
	}
	var text bytes.Buffer
	if err := h.Write(&text); err != nil {
		t.Error(err)
	}
	return sha256.Sum256(text.Bytes())
}

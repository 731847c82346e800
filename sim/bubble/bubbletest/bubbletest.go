package bubbletest

import (
	"crypto/rand"
	"encoding/binary"
	mathrand "math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/recount-io/recount/internal/garbage"
)

// Main runs the tests of a package that run in bubbles, one after the other. It
// returns the status to exit with.
func Main(m *testing.M) int {
	defer garbage.Seldom()()
	return m.Run()
}

// Run calls f in a bubble of its own, where random values are drawn from the seed.
// No other test may run meanwhile that uses a client of Redis: such clients keep
// timers for all of a process, and one that another bubble owns ends this one. So
// what is left of them is collected before and afterwards.
func Run(t *testing.T, seed uint64, f func(t *testing.T)) {
	t.Helper()
	forget()
	defer forget()
	defer watch(seed)()
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(seeded(seed))
		t.Cleanup(synctest.Wait) // who has drawn a random value, and ended, has done so before the source is put back
		f(t)
	})
}

// seeded makes the program's random values those of a seed, until undo is called. Package
// cryptotest would reach those of TLS, too, and works in test binaries only.
func seeded(seed uint64) (undo func()) {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	old := rand.Reader
	rand.Reader = &source{chacha: mathrand.NewChaCha8(key)}
	return func() { rand.Reader = old }
}

// source is a source of random values that is safe for concurrent use.
type source struct {
	mu     sync.Mutex
	chacha *mathrand.ChaCha8
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.chacha.Read(p)
}

// forget empties what is pooled: what one collection finds unused, the next one
// frees.
func forget() {
	runtime.GC()
	runtime.GC()
}

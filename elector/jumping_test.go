package elector_test

import (
	"sync"
	"time"

	"github.com/recount-io/recount/elector"
)

// jumping is a clock that jumps to every timer as soon as it is set, as long as
// it is the elector's only one.
type jumping struct {
	mu  sync.Mutex
	now time.Duration
}

func (j *jumping) Now() time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.now
}

func (j *jumping) AfterFunc(d time.Duration, f func()) elector.Timer {
	return time.AfterFunc(0, func() {
		j.mu.Lock()
		j.now += d
		j.mu.Unlock()
		f()
	})
}

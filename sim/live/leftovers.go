package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/sim/live/inspection"
	"github.com/recount-io/recount/sim/stage"
)

const (
	// leftoverTime is for how long keys in a server that others use outlive a run
	// that could not remove them: the harness was killed, or its machine was.
	leftoverTime = 2 * time.Minute
	// leftoverLook is how often the keys of a run are looked at: so long after a
	// candidate of another's wrote a key without a time to live, that key has one.
	leftoverLook = time.Second
	// leftoverScan is up to how many keys a server may hold for which it is searched
	// for keys that no command named: ten calls.
	leftoverScan = 10_000
)

// leftovers are the keys of a run in one server. Nothing of a run may stay there, even
// if it is killed.
type leftovers struct {
	direct redis.UniversalClient
	prefix string

	register *register // nil: the server is the run's own

	mu   sync.Mutex
	keys map[string]bool // and whether they were given a time to live, which is refreshed
}

func newLeftovers(direct redis.UniversalClient, prefix string, known ...string) *leftovers {
	l := &leftovers{direct: direct, prefix: prefix, keys: map[string]bool{}}
	for _, key := range known {
		l.add(key)
	}
	return l
}

// add notes a key, if it is one of the run's.
func (l *leftovers) add(key string) {
	if !strings.HasPrefix(key, l.prefix) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.keys[key]; !known {
		l.keys[key] = false
	}
}

func (l *leftovers) names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.keys))
}

// watch sees to it, until ctx is done, that each key has a time to live, and that the
// register names it.
func (l *leftovers) watch(ctx context.Context) {
	for first := true; first || stage.Sleep(ctx, leftoverLook); first = false {
		l.expire(ctx)
	}
}

// expire gives a time to live to each key that has none, and refreshes those that it
// gave. A server that cannot be reached gets the next look. What a candidate has set
// by itself stays as it is.
func (l *leftovers) expire(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	names := l.names()
	l.register.tell(ctx, names)
	left := make([]*redis.DurationCmd, len(names))
	_, err := l.direct.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, key := range names {
			left[i] = p.PTTL(ctx, key)
		}
		return nil
	})
	if err != nil {
		return
	}
	var short []string
	l.mu.Lock()
	for i, key := range names {
		switch d := left[i].Val(); {
		case d == -1: // go-redis leaves what says that there is none, or no key
			l.keys[key] = true
			short = append(short, key)
		case l.keys[key] && d > 0 && d < leftoverTime/2:
			short = append(short, key)
		}
	}
	l.mu.Unlock()
	if len(short) == 0 {
		return
	}
	_, _ = l.direct.Pipelined(ctx, func(p redis.Pipeliner) error { // the next look repeats what failed
		for _, key := range short {
			p.PExpire(ctx, key, leftoverTime)
		}
		return nil
	})
}

// remove deletes the keys, and with search those that nobody named, in a server that is
// small.
func (l *leftovers) remove(ctx context.Context, search bool) error {
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	var errs []error
	if search {
		if n, err := l.direct.DBSize(ctx).Result(); err == nil && n <= leftoverScan {
			found := l.direct.Scan(ctx, 0, inspection.Escape(l.prefix)+"*", 1000).Iterator()
			for found.Next(ctx) {
				l.add(found.Val())
			}
			errs = append(errs, found.Err())
		}
	}
	for _, key := range l.names() {
		if err := l.direct.Del(ctx, key).Err(); err != nil {
			errs = append(errs, fmt.Errorf("live: delete the run's key %s: %w; delete what begins with %s by hand: chaos clean", key, err, l.prefix))
			break
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return l.register.leave(ctx)
}

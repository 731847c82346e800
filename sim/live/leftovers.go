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
	// removalTime is for how long a server that others use is asked to remove them, and
	// leftoverAgain after how long it is asked again.
	removalTime   = 15 * time.Second
	leftoverAgain = 100 * time.Millisecond
)

// leftovers are the keys of a run in one server. Nothing of a run may stay there, even
// if it is killed.
type leftovers struct {
	direct redis.UniversalClient
	prefix string

	register *register // nil: the server is the run's own

	mu   sync.Mutex
	keys map[string]time.Time // and when they were given a time to live, which is refreshed; zero: they were not
}

func newLeftovers(direct redis.UniversalClient, prefix string, known ...string) *leftovers {
	l := &leftovers{direct: direct, prefix: prefix, keys: map[string]time.Time{}}
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
		l.keys[key] = time.Time{}
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
	var bare, short []string
	l.mu.Lock()
	now := time.Now()
	for i, key := range names {
		given := l.keys[key]
		switch d := left[i].Val(); {
		case d == -1: // go-redis leaves what says that there is none, or no key
			bare = append(bare, key)
			l.keys[key] = now
		case given.IsZero() || d <= 0:
		case (d - leftoverTime + now.Sub(given)).Abs() > leftoverTime/8: // a candidate has set it since
			l.keys[key] = time.Time{}
		case d < leftoverTime/2:
			short = append(short, key)
			l.keys[key] = now
		}
	}
	l.mu.Unlock()
	if len(bare)+len(short) == 0 {
		return
	}
	_, _ = l.direct.Pipelined(ctx, func(p redis.Pipeliner) error { // the next look repeats what failed
		for _, key := range bare {
			p.Eval(ctx, giveTime, []string{key}, leftoverTime.Milliseconds())
		}
		for _, key := range short {
			p.PExpire(ctx, key, leftoverTime)
		}
		return nil
	})
}

// giveTime gives a key a time to live, unless a candidate has done so meanwhile.
const giveTime = `return redis.call('PTTL', KEYS[1]) == -1 and redis.call('PEXPIRE', KEYS[1], ARGV[1]) or 0`

// remove deletes the keys, and with search those that nobody named, in a server that is
// small. A server that does not answer is asked again for as long as patience lasts: one
// that others use may be held up by them.
func (l *leftovers) remove(ctx context.Context, search bool, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := l.removeNow(ctx, search)
		var reply redis.Error
		if err == nil || errors.As(err, &reply) || !stage.Sleep(ctx, leftoverAgain) {
			return err
		}
	}
}

// removeNow deletes each key twice: a request of a candidate that has been ended may
// have lain in the server when the first order came, and be carried out after it.
func (l *leftovers) removeNow(ctx context.Context, search bool) error {
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
	names := l.names()
	for range 2 {
		_, err := l.direct.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, key := range names {
				p.Del(ctx, key)
			}
			return nil
		})
		if err != nil && len(names) > 0 {
			return errors.Join(append(errs, &LeftoverError{Prefix: l.prefix, Err: err})...)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return l.register.leave(ctx)
}

// LeftoverError says that keys of a run could not be removed. They end by themselves
// within two minutes in a server that others use.
type LeftoverError struct {
	Prefix string // what they begin with
	Err    error
}

func (e *LeftoverError) Error() string {
	return fmt.Sprintf("live: the keys that begin with %s could not be removed: %v; they end by themselves within %v, or remove them by \"chaos clean\"", e.Prefix, e.Err, leftoverTime)
}

// Unwrap returns the cause.
func (e *LeftoverError) Unwrap() error { return e.Err }

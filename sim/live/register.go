package live

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/sim/live/inspection"
)

const (
	// registerBeat is how often a run that goes on says so in the register.
	registerBeat = leftoverTime / 4
	// registerTime is for how long the register outlives runs of electors that may
	// write keys without a time to live, if such a run is killed.
	registerTime = 24 * time.Hour
)

// entry is what the register of a server says of one run.
type entry struct {
	Keys []string `json:"keys"`
	Seen int64    `json:"seen_ms"` // when it said so, by the server's clock
	Keep int64    `json:"keep_ms"` // for how long its keys may stay after that
}

// current reports whether the run goes on, or was killed a moment ago.
func (e entry) current(now time.Time) bool {
	return now.Sub(time.UnixMilli(e.Seen)) < 2*registerBeat
}

// over reports whether nothing of the run can be there any more.
func (e entry) over(now time.Time) bool {
	return now.Sub(time.UnixMilli(e.Seen)) > time.Duration(e.Keep)*time.Millisecond
}

// register is a run's place in the register of a server that others use. What is left
// of a run that was killed is found there, and not by going through all keys.
type register struct {
	client redis.UniversalClient
	key    string        // the register's
	run    string        // what the run's keys begin with
	keep   time.Duration // for how long its keys may stay

	noted  []string
	at     time.Time
	pruned bool
}

func newRegister(client redis.UniversalClient, prefix, run string, keep time.Duration) *register {
	return &register{client: client, key: inspection.Register(prefix), run: run, keep: keep}
}

// tell notes the names of the run's keys, if they are others than before or it is time
// to say that the run goes on. A server that cannot be reached gets them the next time.
func (r *register) tell(ctx context.Context, names []string) {
	if r == nil || slices.Equal(r.noted, names) && time.Since(r.at) < registerBeat {
		return
	}
	now, err := r.client.Time(ctx).Result()
	if err != nil {
		return
	}
	left, err := r.client.PTTL(ctx, r.key).Result()
	if err != nil {
		return
	}
	r.prune(ctx, now)
	text, err := json.Marshal(entry{Keys: names, Seen: now.UnixMilli(), Keep: r.keep.Milliseconds()})
	if err != nil {
		return
	}
	_, err = r.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.HSet(ctx, r.key, r.run, text)
		p.PExpire(ctx, r.key, max(left, r.keep)) // another run may need it for longer
		return nil
	})
	if err == nil {
		r.noted, r.at = names, time.Now()
	}
}

// prune removes, once, the runs of which nothing can be there any more.
func (r *register) prune(ctx context.Context, now time.Time) {
	if r.pruned {
		return
	}
	all, err := r.client.HGetAll(ctx, r.key).Result()
	if err != nil {
		return
	}
	r.pruned = true
	var over []string
	for run, text := range all {
		if e := entryOf(text); e.over(now) {
			over = append(over, run)
		}
	}
	if len(over) > 0 {
		_ = r.client.HDel(ctx, r.key, over...).Err() // the next run removes them
	}
}

// leave takes the run out: none of its keys is there any more.
func (r *register) leave(ctx context.Context) error {
	if r == nil {
		return nil
	}
	return r.client.HDel(ctx, r.key, r.run).Err()
}

// entryOf reads an entry. One that cannot be read is of a run that is long over.
func entryOf(text string) entry {
	var e entry
	if json.Unmarshal([]byte(text), &e) != nil {
		return entry{}
	}
	return e
}

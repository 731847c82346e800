package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrUnconfirmed is the outcome of a grant or renewal that fewer servers have
// confirmed than Options.Replicas, Fsynced and FsyncedReplicas ask for. It took
// effect on the server that was asked, but may be lost, so nobody may lead by
// it.
var ErrUnconfirmed = errors.New("redisstore: too few servers have confirmed the lease")

// fsyncedFix is what to do about a server that has no WAITAOF.
const fsyncedFix = "upgrade the server to Redis 7.2 or newer, or leave Options.Fsynced and FsyncedReplicas out"

// slowFsync is how long it may take until a server says that something is on
// disk, where it does not say so at once: with "appendfsync everysec", and where
// replicas are asked, which tell it once a second. The other second is for a
// disk or a replica that is busy.
const slowFsync = 2 * time.Second

// confirming is who has to confirm a grant or renewal.
type confirming struct {
	replicas int  // that have it
	own      bool // the server has it on disk
	disks    int  // of replicas that have it on disk
	within   time.Duration
}

func confirmingOf(o Options) (confirming, error) {
	c := confirming{o.Replicas, o.Fsynced, o.FsyncedReplicas, o.Confirm}
	if c.within == 0 {
		c.within = 100 * time.Millisecond
		if c.disks > 0 {
			c.within = slowFsync
		}
	}
	switch {
	case c.replicas < 0 || c.disks < 0 || c.within < 0 || c.within%time.Millisecond != 0:
		return c, fmt.Errorf("redisstore: Replicas is %d, FsyncedReplicas is %d and Confirm is %v: none may be negative, and Confirm must be a multiple of 1ms", o.Replicas, o.FsyncedReplicas, o.Confirm)
	case c.disks > 0 && c.within < slowFsync:
		return c, fmt.Errorf("redisstore: FsyncedReplicas is %d and Confirm is %v: replicas say once a second what they have on disk, so Confirm must be %v or more", c.disks, c.within, slowFsync)
	}
	return c, nil
}

// any reports whether anybody has to confirm; fsync, whether on disk.
func (c confirming) any() bool   { return c.replicas > 0 || c.fsync() }
func (c confirming) fsync() bool { return c.own || c.disks > 0 }

// most is how many replicas have to confirm, in memory or on disk.
func (c confirming) most() int { return max(c.replicas, c.disks) }

// confirmation is who has confirmed. Replicas that have it on disk have it.
type confirmation struct {
	replicas, own, disks int64
	young                int64 // replicas that may have confirmed another primary's lease
}

// met reports whether as many have confirmed as have to. Each young replica may be among
// those that did, and does not count.
func (c confirming) met(got confirmation) bool {
	enough := func(have int64, want int) bool { return want == 0 || have >= int64(want)+got.young }
	return enough(got.replicas, c.replicas) && enough(got.disks, c.disks) && (got.own > 0 || !c.own)
}

// tell says who has confirmed, of those who have to.
func (c confirming) tell(got confirmation) string {
	var parts []string
	if c.replicas > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s", got.replicas, count(c.replicas, "replica")))
	}
	if c.own {
		parts = append(parts, fmt.Sprintf("%d of 1 disk of the server's own", got.own))
	}
	if c.disks > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s of replicas", got.disks, count(c.disks, "disk")))
	}
	text := fmt.Sprintf("%s within %v", strings.Join(parts, ", "), c.within)
	if got.young > 0 {
		text += fmt.Sprintf("; %s followed another server less than a lease ago and may have confirmed its lease", count(int(got.young), "replica"))
	}
	return text
}

// write is run for a script whose effect must not be lost: it waits until those
// have it who have to confirm. For a grant, followed is how long any lease may last: a
// replica counts only if it has followed the server for that long.
//
// WAIT and WAITAOF count those who have everything that was written over their
// own connection, so they must follow the script on that one. They are sent
// along with it, which costs no round trip; scripts that are sent together share
// them. In a cluster they have no key that would lead them to the right node: that
// node is asked.
func (s *Store) write(ctx context.Context, sc *script, guard string, followed time.Duration, keys []string, args ...any) (any, error) {
	if !s.confirm.any() {
		return s.run(ctx, sc, keys, args...)
	}
	o := sc.order(keys, args)
	o.guard, o.confirm = guard, true
	if s.protect == protected {
		o.followed = followed
	}
	done := s.confirmed(ctx, o)
	if done.err == nil && took(done.reply) && !s.confirm.met(done.got) {
		return nil, fmt.Errorf("%w: %s", ErrUnconfirmed, s.confirm.tell(done.got))
	}
	return done.reply, done.err
}

func (s *Store) confirmed(ctx context.Context, o order) (done outcome) {
	if !s.clustered() {
		return s.batches.do(ctx, o)
	}
	_, done.err = s.with(ctx, func(c *client) (any, error) {
		node, err := c.primary(ctx, o.guard)
		if err != nil {
			return nil, err
		}
		done = s.follow(ctx, c, node, o, maxRedirections)
		return nil, done.err
	})
	return done
}

// question asks who has confirmed.
type question struct {
	sent          time.Time
	wait, waitAOF *redis.Cmd
	followers     *redis.Cmd // nil: no order grants
}

// ask adds to the pipeline what waits for confirmations. After a grant it lists the
// replicas: Redis does so right after it has counted them, so that each replica that it
// counted is in the list.
func (s *Store) ask(ctx context.Context, pipe redis.Pipeliner, orders []*order) (q question) {
	c := s.confirm
	if !orders[0].confirm {
		return q
	}
	q.sent = time.Now()
	q.wait, q.waitAOF = redis.NewCmdResult(int64(0), nil), redis.NewCmdResult([]any{int64(0), int64(0)}, nil)
	if c.replicas > c.disks {
		q.wait = pipe.Do(ctx, "WAIT", c.replicas, c.within.Milliseconds())
	}
	if c.fsync() {
		own := 0
		if c.own {
			own = 1
		}
		q.waitAOF = pipe.Do(ctx, "WAITAOF", own, c.disks, c.within.Milliseconds())
	}
	if c.most() > 0 && slices.ContainsFunc(orders, func(o *order) bool { return o.followed > 0 }) {
		q.followers = listFollowers(ctx, pipe)
	}
	return q
}

// answer is who has confirmed an order, which has this reply.
func (q *question) answer(s *Store, o *order, reply any) (confirmation, error) {
	replicas, err := q.wait.Int64()
	disks, err2 := q.waitAOF.Int64Slice()
	if err := cmp.Or(err, err2); err != nil {
		return confirmation{}, plain(err)
	}
	if len(disks) != 2 {
		return confirmation{}, fmt.Errorf("redisstore: WAITAOF: the reply has an unexpected shape: %.200q", fmt.Sprint(disks))
	}
	got := confirmation{replicas: max(replicas, disks[1]), own: disks[0], disks: disks[1]}
	if q.followers == nil || o.followed == 0 {
		return got, nil
	}
	list, err := q.followers.Text()
	if err != nil {
		return got, plain(err)
	}
	vouched := ""
	if fields, ok := reply.([]any); ok && len(fields) == 5 {
		vouched, _ = fields[3].(string)
	}
	got.young = s.followers.young(list, vouched, q.sent, time.Now(), o.followed)
	return got, nil
}

// took reports whether the script wrote a lease, by its reply.
func took(reply any) bool {
	if fields, ok := reply.([]any); ok && len(fields) > 0 {
		reply = fields[0]
	}
	applied, ok := integer(reply)
	return ok && applied == 1
}

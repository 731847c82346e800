package redisstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/store"
)

// inside tries each command in a script. Some services refuse it there only, and scripts
// go on without some commands and never say so. A proxy may also refuse outside what the
// server behind it has.
func (t *rehearsal) inside(ctx context.Context) {
	doubted := func(n need) bool {
		return slices.ContainsFunc(t.doubtful, func(d need) bool { return d.right == n.right })
	}
	if slices.Contains(t.missing[toElect], "eval") {
		for _, n := range t.doubtful {
			t.lack(n.right, n.why, nil)
		}
		return
	}
	var tried []need
	pipe, answers := t.at.Pipeline(), []*redis.Cmd{}
	for _, n := range t.needs() {
		if n.inScripts() && !slices.Contains(t.missing[n.why], n.right) {
			tried = append(tried, n)
			answers = append(answers, pipe.Eval(ctx, n.text(), []string{t.names.lease()}, t.names.channel(t.store.opts.DB)))
		}
	}
	pipe.PExpire(ctx, t.names.lease(), scratchTime)
	pipe.Del(ctx, t.names.lease())
	_, _ = pipe.Exec(ctx) // each command has its own error
	for i, n := range tried {
		err := plain(answers[i].Err())
		switch {
		case err == nil, errors.Is(err, redis.Nil), passing(err), isReply(err) && hasCode(err.Error(), "WRONGTYPE "):
		case !isReply(err):
			t.broken = err
		case doubted(n):
			t.lack(n.right, n.why, err)
		default:
			name := strings.ToUpper(strings.ReplaceAll(n.right, "|", " "))
			t.denials = append(t.denials, denial{what: name, command: true, why: n.why, err: err})
		}
	}
}

// text is a script that makes the same use of the command.
func (n need) text() string {
	words := make([]string, len(n.try))
	for i, word := range n.try {
		switch word {
		case "KEY":
			words[i] = "KEYS[1]"
		case "CHANNEL":
			words[i] = "ARGV[1]"
		default:
			words[i] = "'" + word + "'"
		}
	}
	return "return redis.call(" + strings.Join(words, ", ") + ")"
}

// scratchTime is how long what the rehearsal writes lives at the most.
const scratchTime = 10 * time.Second

// scripts runs the store's scripts on the scratch election, with its keys as the store
// sends them: first with a witness outside the election's slot. That witness is a scratch
// key as well, since the store's own has what protects everybody's elections. Whatever a
// script writes gets a time to live in the same pipeline.
func (t *rehearsal) scripts(ctx context.Context) {
	s, n := t.store, t.store.newNames(t.scratch)
	t.guard, t.witness = n.guard, s.witnessOf(n.guard)
	if t.witness != n.guard {
		t.witness = s.prefix + t.scratch + ":witness"
	}
	written := slices.Clone(n.acquire)
	written[5] = t.witness // the store's own must stay
	defer t.clean(ctx, written)

	const id, other, ttl = "preflight", "preflight-2", "10000"
	protect, l := s.protect, store.Lease{ID: id}
	t.run(ctx, "leader", &s.scripts.leader, n.renew[:2])
	if t.attempt(ctx, &s.scripts.vouch, append(n.acquire[:2:2], n.acquire[5]), "") != nil {
		protect = unprotected // else nobody gets the lease before a lease's time is over
	}
	t.run(ctx, "acquire", &s.scripts.acquire, n.acquire, id, "1", ttl, "0", n.channel, 1, protect, 0, ttl, "", "", 1, "value")
	if reply, ok := t.reply.([]any); ok && len(reply) > 1 {
		l.Token, _ = tokenOf(reply[1])
	}
	value := leaseValue(l, "1")
	t.run(ctx, "acquire", &s.scripts.acquire, n.acquire, other, "2", ttl, "0", n.channel, 1, protect, 0, ttl, "", "")
	t.run(ctx, "renew", &s.scripts.renew, n.renew, value, ttl, "1", 2, l.Token, "1", 2, "value", n.channel)
	t.run(ctx, "release", &s.scripts.release, n.release, value, n.channel, "1", 3, l.Token, "", 0, id, ttl, 0, ttl, protect)
	t.run(ctx, "candidates", &s.scripts.candidates, []string{n.acquire[3], n.guard, n.acquire[5]})
	t.run(ctx, "terms", &s.scripts.terms, []string{n.acquire[4]})
}

// clean removes the scratch keys, each by itself: they may lie on several servers.
func (t *rehearsal) clean(ctx context.Context, keys []string) {
	pipe := t.at.Pipeline()
	for _, key := range keys {
		pipe.Del(ctx, key)
	}
	_, _ = pipe.Exec(ctx) // else they end by themselves, within scratchTime
}

// run runs a script, and notes what was refused. A server that has not answered one is
// not asked again.
func (t *rehearsal) run(ctx context.Context, name string, sc *script, keys []string, args ...any) {
	switch err := t.attempt(ctx, sc, keys, args...); {
	case err == nil, errors.Is(err, errNotAsked):
	case isReply(err):
		t.denials = append(t.denials, denial{what: name, asks: sc.asks(err.Error()), err: err})
	default:
		t.add(store.SeverityError, "reachable", "the server gave no answer to the script "+name+", so "+costs[name]+": "+err.Error(),
			"make this check again; if it stays so, look whether a proxy closes the connection on EVALSHA or EVAL")
	}
}

// errNotAsked is the outcome of a script that was not sent.
var errNotAsked = errors.New("redisstore: an answer is missing")

// attempt sends a script with the scratch witness, or with the guard where that is
// refused. The words for keys of several slots differ: they are recognised by a script
// that is refused only if it has such keys.
func (t *rehearsal) attempt(ctx context.Context, sc *script, keys []string, args ...any) error {
	if t.broken != nil {
		return errNotAsked
	}
	at := slices.Index(keys, t.store.witness)
	with := func(witness string) error {
		if at < 0 {
			return t.send(ctx, sc, keys, args)
		}
		all := slices.Clone(keys)
		all[at] = witness
		return t.send(ctx, sc, all, args)
	}
	apart := with(t.witness)
	if at < 0 || t.witness == t.guard || !isReply(apart) || passing(apart) {
		return apart
	}
	err, known := with(t.guard), crossSlot(apart)
	switch {
	case err == nil && !known && with(t.witness) == nil:
		return nil // it has passed
	case err != nil && (!known || cause(err) == cause(apart)):
		return apart
	}
	t.apart, t.witness = apart, t.guard
	return err
}

// send sends a script as the store does, with what ends its keys.
func (t *rehearsal) send(ctx context.Context, sc *script, keys []string, args []any) (err error) {
	o := sc.order(keys, args)
	for _, text := range []bool{false, true} {
		pipe, cmd := t.at.Pipeline(), o.command(ctx, text)
		_ = pipe.Process(ctx, cmd) // it is only queued
		for _, key := range keys {
			pipe.PExpire(ctx, key, scratchTime)
		}
		_, failed := pipe.Exec(ctx)
		t.reply, err = cmd.Val(), plain(cmd.Err())
		if err == nil && failed != nil && !isReply(failed) && cmd.Val() == nil {
			err = plain(failed) // there was no connection
		}
		if !redis.HasErrorPrefix(err, "NOSCRIPT") {
			break
		}
	}
	if err != nil && !isReply(err) {
		t.broken = err
	}
	return err
}

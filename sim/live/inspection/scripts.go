package inspection

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/store"
)

// scriptTime is how long what the scripts write lives at the most: a store's shortest.
const scriptTime = time.Minute

// tryScripts lets the elector's store look for a leader, grant a lease, renew it and release it, in an
// election of a random name, whose keys are gone at the end. A service or a proxy may
// refuse scripts, or those of several keys, where it has every command.
func (i *visit) tryScripts(ctx context.Context) error {
	prefix := i.need.Prefix + RunMark + "inspection-" + rand.Text() + ":"
	st, err := redisstore.FromClient(i.client, redisstore.Options{Prefix: prefix, Audit: true, Expire: scriptTime})
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }() // the client stays open
	const election = "inspection"
	for _, key := range append(st.Keys(election), st.Witness()) {
		defer i.client.Del(ctx, key) // else it ends by itself
	}
	attempt := store.Attempt{Election: election, ID: "inspection", Nonce: "1", Request: 1, TTL: scriptTime / 6, Value: "value", Version: 1}
	lease := store.Lease{Election: election, ID: attempt.ID, Nonce: attempt.Nonce, TTL: attempt.TTL, Value: attempt.Value, Version: 1}
	for _, step := range []func() error{
		func() error { _, err := st.Leader(ctx, election); return err },
		func() error { return st.Vouch(ctx, election) }, // else nobody is granted the lease of a new name at once
		func() error { grant, err := st.Acquire(ctx, attempt); lease.Token = grant.Token; return err },
		func() error { lease.Request = 2; return st.Renew(ctx, lease) },
		func() error { lease.Request = 3; return st.Release(ctx, lease) },
	} {
		if err := step(); err != nil {
			return i.cannotRun(err)
		}
	}
	return nil
}

// cannotRun says in the server's words that it does not run a script.
func (i *visit) cannotRun(err error) error {
	var answer interface{ Answered() bool }
	var fatal *elector.FatalError
	switch {
	case errors.As(err, &fatal):
		return i.unsuitable("cannot run the elector's scripts: %s", strings.TrimSpace(err.Error()))
	case errors.As(err, &answer) && answer.Answered():
		return i.unsuitable("cannot run the elector's scripts: %s; a service or a proxy has to allow them, with several keys", err)
	default:
		return i.lost(err)
	}
}

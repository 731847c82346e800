package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/recount-io/recount/elector/store"
)

// fsync says why the server never confirms that a lease is on disk, or not in
// time.
func (v *survey) fsync(n *node, add addFunc) {
	const cost = "no grant or renewal is ever confirmed, so nobody can lead"
	const always = `set "appendonly yes" and "appendfsync always": elections write little; or leave Options.Fsynced out`
	if n.olderThan(7, 2) {
		add(store.SeverityError, "redis_version", "is "+n.info["redis_version"]+", and Options.Fsynced and FsyncedReplicas need WAITAOF, which came with version 7.2: "+cost, fsyncedFix)
		return
	}
	if !v.store.confirm.own {
		return
	}
	aof, _ := n.aof()
	switch fsync := n.config["appendfsync"]; {
	case aof == "no":
		add(store.SeverityError, "appendonly", "is no, and Options.Fsynced asks that leases are on disk: "+cost, always)
	case fsync == "no":
		add(store.SeverityError, "appendfsync", "is no, so the server itself does not know when a lease is on disk, and Options.Fsynced asks for it: "+cost, always)
	case fsync == "everysec" && v.store.confirm.within < slowFsync:
		add(store.SeverityError, "appendfsync", fmt.Sprintf("is everysec: a lease may be on disk after two seconds only, and Options.Confirm is %v: most grants and renewals are not confirmed, so nobody leads for long", v.store.confirm.within),
			fmt.Sprintf(`set "appendfsync always": elections write little; or Options.Confirm to %v or more, with a Lease of some ten times that`, slowFsync))
	}
}

// trial writes a key as a lease is written, where nothing is known to stand in
// the way of a confirmation that it is on disk: of the replicas' disks, and how
// fast one is, no setting tells.
func (v *survey) trial(ctx context.Context) {
	c := v.store.confirm
	if !c.fsync() || (store.Preflight{Findings: v.list}).Worst() == store.SeverityError {
		return
	}
	key := v.store.keys(v.scratch).lease()
	at, err := v.client.primary(ctx, key)
	if err != nil {
		return // a cluster that is not in order: it was said
	}
	pipe := at.Pipeline()
	pipe.Set(ctx, key, "0", 10*time.Second)
	asked := v.store.ask(ctx, pipe, []*order{{confirm: true}})
	pipe.Del(ctx, key)
	_, _ = pipe.Exec(ctx) // what matters is the answer
	got, err := asked.answer(v.store, &order{confirm: true}, nil)
	switch {
	case err != nil:
		v.add(store.SeverityError, "fsync", "whether leases get to the disk could not be tried: "+unwrapped(err), "make this check again when the server answers")
	case !c.met(got):
		v.add(store.SeverityError, "fsync", "a key that was written for a trial was confirmed by "+c.tell(got)+", so nobody can lead",
			`set "appendonly yes" and "appendfsync always" on the replicas too, and wait until one that has just connected has written its file; or set Options.Confirm to more`)
	}
}

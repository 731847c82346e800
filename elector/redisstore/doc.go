// Package redisstore keeps the leases of elections in Redis (5 or newer; a
// single server, a cluster, or one behind Sentinel).
//
// # What it guarantees
//
// While Redis keeps its data, at most one candidate holds the lease of an
// election, and every grant has a larger token than all grants before it.
// Every operation is one script, so it happens as a whole or not at all;
// acquiring is idempotent by nonce. A renewal never creates or takes a lease,
// and a late renewal or release of an earlier term does nothing, because the
// lease's value names id, nonce and token. No command carries a client's time.
//
// # What it does not guarantee
//
// Redis replicates asynchronously. A failover, or a restart without (all of)
// its data, loses the last leases and counts: two candidates may then hold a
// lease at one time, and a token may be handed out that is not larger.
// Attempt.Floor (every elector gives the highest token that it knows) and
// Options.SeedTokens make the second unlikely; only the protected resource can
// make the first harmless, by refusing tokens smaller than one it has seen
// (package fence). "min-replicas-to-write 1" on the server narrows the window,
// and "maxmemory-policy noeviction" keeps Redis from evicting leases.
//
// # The caller's duty
//
// Give the context of every call a deadline. The Redis client notices an
// exceeded deadline, but not a cancelled context while it waits for a reply:
// a caller that must not wait makes the call on a goroutine of its own. Do not
// repeat a call whose outcome is unknown, except an Acquire with the same
// nonce; and close the store after the last use.
//
// The Redis user needs the keys and channels that begin with Options.Prefix
// (ACL: "~recount:* &recount:*") and the commands evalsha, eval, get, set, del,
// incr, pexpire, pttl, publish, subscribe, ping, pubsub|numsub; time for
// SeedTokens and Audit; rpush and lrange for Audit. Without publish and
// subscribe elections work, but nobody is woken when a lease is released.
//
// go-redis logs failed dials through its own logger, which is the program's
// to set (redis.SetLogger).
package redisstore

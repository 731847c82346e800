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
// The attempt that was refused last stands as a bid: Release passes the lease on to
// it, in the same script, if it is young enough and its candidate listens, and
// announces that. So a user who may read the keys of an election and publish on its
// channel can make a waiting candidate lead without a lease, until its first renewal
// is refused.
//
// # What it does not guarantee
//
// Redis replicates asynchronously, and its lease is only as durable as its
// persistence. A server that lost data, or that took over from another one,
// grants nobody a lease for as long as one may last that it does not know of.
// Tokens are its time in microseconds, or follow the last one
// (Options.Unprotected switches both off). Three things remain. Older data that
// is restored without a restart shows only to candidates that know more. A primary
// that was cut off from its replicas goes on renewing the lease that it knows, while
// a promoted replica grants another one (Options.Replicas closes that gap: then nobody
// leads by what too few replicas have confirmed). And a server's clock that jumps
// forward ends leases early. The protected resource makes all three harmless by refusing tokens smaller than one
// it has seen (package fence). "maxmemory-policy noeviction" keeps Redis from
// evicting leases, which would cost a lease's time without a leader.
//
// # The caller's duty
//
// Give the context of every call a deadline. A call returns when its context is
// done; in a cluster, and for a context that is [store.Unhurried], the Redis client
// notices an exceeded deadline, but not a cancelled context while it waits for a reply: a
// caller that must not wait makes the call on a goroutine of its own. Requests that come while all connections
// (PoolSize) are busy wait for one, and go together; one whose caller has given up
// before is never sent. Do not repeat a call whose outcome is unknown, except an
// Acquire with the same nonce; and close the store after the last use.
//
// The Redis user needs the keys and channels that begin with Options.Prefix
// (ACL: "~recount:* &recount:*") and the commands evalsha, eval, get, set, del,
// pexpire, pexpireat, pttl, time, hset, hget, hmget, hdel, info, publish,
// subscribe, ping, pubsub|numsub; exists for Create; hlen, hgetall, lpush, ltrim
// and lrange for Candidates and History, and hgetall to tell candidates whose
// leases differ; hlen and hscan to forget elections that are over; wait and client|list
// for Options.Replicas; waitaof and client|list for Options.FsyncedReplicas, waitaof for
// Fsynced; rpush, lrange and ltrim for Audit. Without
// publish and subscribe elections work, but nobody is woken when a lease is
// released; without unsubscribe a watch that has ended is counted as waiting
// until its store's last one ends; without info a server that was replaced
// cannot be told, and only what the lost data itself shows is protected: beside
// candidates that may use info, a user without it waits a lease before each grant.
// [Store.Preflight] tells which of them are missing; for the rest of what it
// says it needs scan and config|get too, and cluster|info in a cluster.
//
// go-redis logs failed dials through its own logger, which is the program's
// to set (redis.SetLogger).
package redisstore

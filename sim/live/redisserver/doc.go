// Package redisserver gives a run the Redis in which its leases live: one
// inside the harness, a process of its own, a container, or one that runs
// already somewhere.
//
// The first three are private to the run: they may be paused, crashed and
// restarted, keep every write that they confirmed, and are gone after Close, or
// two seconds after the harness has died. A Redis that is given by a URL is
// only used.
package redisserver

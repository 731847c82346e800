// Package health answers for the electors of a process: to probes, to load
// balancers, and to people.
//
// # What is guaranteed
//
// Every answer comes from memory. Nothing here asks the store or waits for it,
// for the elector's goroutine, or for a callback, so an answer comes at once
// however much hangs. Whether a candidate leads is Elector.IsLeader at the moment
// of the answer: it turns false at the deadline, by the clock, even if the
// elector's goroutine never runs again.
//
// # What is not guaranteed
//
// An answer was true when it was made. What must not happen twice needs the
// token at the resource; a load balancer that asks every few seconds may send
// requests to two for as long.
//
// # The three states
//
// A candidate is healthy if it leads, degraded if it follows (which is normal
// for all but one), and unhealthy if it cannot tell who leads: the store has
// owed an answer for a lease or longer, or the elector does not run; or if it
// cannot lead, because a callback of its last term hangs. A follower
// asks the store about once a lease, so it notices a store that fell silent
// after one to two leases.
//
// # Liveness and readiness
//
// Live fails only where a restart would help: if the elector's goroutine is
// stuck in a term that is over, or a fatal error has stopped it. A store that is
// away is no such reason: restarting every candidate would not bring it back.
// Nor is a callback that hangs, which may be ending what must not be torn off.
// Ready fails if any election is unhealthy.
package health

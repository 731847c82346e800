// Package kubelock is a lock for the leader election of Kubernetes' client-go, and so of
// controller-runtime, on any elector.Store: Redis, PostgreSQL or a quorum of Redis in place
// of a Lease object on the API server.
//
// Give a Lock to a leaderelection.LeaderElector as its Lock, or to a manager of
// controller-runtime as Options.LeaderElectionResourceLockInterface. All candidates must use
// such a lock, with the same LeaseDuration, in whole seconds of at least one. A candidate that
// is an elector.Elector with the same store, election and lease competes with them.
//
// # What is guaranteed
//
// The store grants the lease to one Lock at a time, and to nobody else for LeaseDuration
// after it was granted or renewed. As long as the store keeps what it has acknowledged, and
// clocks run at rates that differ by no more than elector.DefaultDrift, Token returns a token
// to one candidate at most at any time. Every later term has a larger token.
//
// # What is not guaranteed
//
// It is client-go that decides when the work ends, and client-go does not look at the lease's
// end. It is weaker than an elector.Elector in front of the same store, which ends the context
// of a term before the store can grant the lease to another, whatever its settings:
//
//   - client-go tells the work to end when renewals have failed for RenewDeadline. That time
//     begins RetryPeriod after the last renewal was answered. With ReleaseOnCancel the work is
//     told only after the attempt to release. Only durations that fit, below, make that early
//     enough.
//   - client-go counts with timers. In a process that was paused or suspended, the work goes on
//     for as long as they are late, and LeaderElector.IsLeader stays true. Elector.IsLeader and
//     Term.Check look at the clock, and so does Token.
//   - A leader whose lease is gone early (deleted, or lost by the store) is not told before
//     RenewDeadline is over. Another one may lead meanwhile. If the former leader gets the lease
//     back within that time, its work is told nothing; only the token is another one.
//   - client-go asks every RetryPeriod. So it takes up to RetryPeriod × 2.2 until another one
//     leads after a release, and a fatal error of the store, such as a wrong password, is
//     repeated for ever.
//
// # Durations that fit
//
// A Lock gives each request up after a sixth of LeaseDuration. So the work is told to end before
// another candidate leads if
//
//	LeaseDuration/6 + RetryPeriod + RenewDeadline ≤ LeaseDuration × (1 − elector.DefaultDrift)
//
// With ReleaseOnCancel it is
//
//	LeaseDuration/2 + RetryPeriod + RenewDeadline ≤ LeaseDuration × (1 − elector.DefaultDrift)
//
// Durations are in whole seconds, as client-go tells the lock: 1.9 s is a lease of 1 s. What the work needs to end
// comes on top. The usual 15 s, 10 s and 2 s fit without ReleaseOnCancel; with it, 15 s, 5 s and
// 2 s do.
//
// # The caller's duty
//
// Call Token for every write, do not write if it is 0, and let what is written to refuse
// tokens smaller than the largest it has seen: see package elector/fence.
package kubelock

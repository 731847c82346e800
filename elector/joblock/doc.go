// Package joblock locks a job that several hosts start at about the same time,
// such as one of cron: one of them runs it, and the others learn that they need
// not. It is on top of package elector, and works on every store.
//
// # What is guaranteed
//
// As long as the store keeps what it has confirmed, and clocks run at rates that
// differ by no more than Config.Drift:
//
//   - While the job's context is not done, nobody else has the lock. The lock is
//     renewed in the background, so nobody has to guess how long the job takes.
//   - Nobody else gets the lock before Options.AtLeast has passed since it was
//     granted, by the store's clock, even if the job was done sooner, if the
//     process has ended since, and if it crashed or was cut off from the store.
//     A host whose clock is late by less than AtLeast finds the job taken.
//   - When Options.AtMost has passed since the grant was known here, the job's
//     context is done and the lock is given back, whether the job has returned
//     or not.
//   - Each run has a fencing token, larger than that of every run before it:
//     Term.Token. See package elector/fence.
//
// What is not guaranteed: that the job runs. It does not where the store is
// away, nobody repeats the run of a process that crashed, and one that crashes
// before the job begins keeps the others out as if it had begun. Nor is it
// guaranteed that a job ends that does not heed its context: such a job, and one
// in a process that was paused, may still write when the next one runs. Only the
// token stops these writes.
//
// A crash frees the lock when AtLeast has passed since the grant, and one
// Config.Lease since the last renewal, whichever is later. Else it is free when the
// job has ended and AtLeast has passed. That may be later by twice Config.Drift's
// share of AtLeast and some round trips, since of two clocks neither is known to be
// right; and by one Config.Lease if a renewal that was sent before the job's end
// arrives after it.
//
// A store that loses what it had confirmed loses the lock, and with it the
// least time: of a job that is over nobody is left to notice. Redis that was
// restarted without its data therefore grants nobody anything for as long as
// AtLeast; neither does a new one, unless somebody vouches for it
// (redisstore.Store.Vouch, elect create --vouch). It counts from when it is
// first asked. Run waits for that, as elect run --once does, and then asks again: of
// hosts that start at one moment one runs the job, AtLeast later. A host that starts after
// the loss, and the job before it, runs the job a second time. Options.Wait limits the waiting.
// Redis that was restarted with its data keeps the lock. Where the lock was over, it also
// grants nobody a new one for as long.
//
// A lock that an operator deletes is lost to its job with the next renewal. Others
// get it at once from some stores; from redisstore when it would have ended.
//
// # The caller's duty
//
// All hosts name the job alike, in Config.Election, and have the same Lease,
// Drift and AtLeast. Where redisstore's keys expire (Options.Expire), they must last for
// twice the time from one start to the next: a server that has forgotten the job each
// time never runs it. AtLeast is longer than the clocks of the hosts may differ,
// and shorter than the time from one start of the job to the next.
package joblock

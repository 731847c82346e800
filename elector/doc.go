// Package elector elects one leader among any number of candidates, with a
// lease in a store that they share (Redis: elector/redisstore).
//
// # What is guaranteed
//
// As long as the store keeps what it has acknowledged, and clocks run at rates
// that differ by no more than Config.Drift, at most one candidate of an election
// is in a term at any time: Elector.IsLeader and Term.Check answer yes to one of
// them at most, by the clock, and a Term's context is done before the store can
// give the lease to another. This holds whatever the network, the store's speed,
// the wall clocks and the suspension of machines do. Every later term has a
// larger token. A candidate that crashes is replaced within about one lease; one
// that resigns, within milliseconds.
//
// # What is not guaranteed
//
// No answer about leadership is true for longer than the moment in which it is
// given. A process can be paused (garbage collection, SIGSTOP, a virtual machine
// that moves) between a check and what it does next, for longer than its lease,
// and what it sent may arrive late. No elector can prevent that. Nor can a lease
// outlive a store that forgets: a Redis that fails over to a replica may have
// lost the last second's writes, and then two candidates are in a term for up to
// one lease.
//
// # What the caller must do
//
// Send Term.Token with every write to whatever must not be written to by two,
// and let that resource refuse tokens smaller than the largest it has seen: this
// "fencing" closes both gaps (elector/fence helps). Let the work end soon after
// the term's context is done. Call Term.Check before a step that takes long, with
// the time that it takes. Return from OnStarted only when the term should end.
//
// # How to test a service that leads
//
// Package elector/electortest tests what the service does when it leads, loses the lease
// and leads again, in the fake time of testing/synctest and without a server. There an
// elector lives by the fake time, unless Config.Clock says otherwise.
//
// # Ways to use it
//
// Elector.Run calls back, for ever or once. Elector.Terms is a loop over terms.
// Elector.Campaign returns one term. Observe tells who leads, without competing.
package elector

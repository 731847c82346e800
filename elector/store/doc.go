// Package store is what an elector asks of the thing that keeps its leases, for those who
// write a store or wrap one. Who only elects needs none of it: package elector repeats the
// few names that it hands out, such as elector.HeldError.
//
// A [Store] grants a lease to one candidate at a time. What more it can do it says by
// further interfaces, which are all optional: [CandidateLister] (who competes), [TermLister] (past
// terms), [Preflighter] (what its servers' settings are worth), [Bounded] (which times suit
// it) and [Carrier] (how many elections its connections carry). A store that wraps another
// one has a method Unwrap() Store, and [As] looks through it.
//
// Package elector/storetest tests a store against all that is said here.
package store

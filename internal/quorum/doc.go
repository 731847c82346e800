// Package quorum decides what is done about a lease that a majority of several
// independent stores ("nodes") keeps. docs/stores.md has the algorithm, and the
// proof that rests on these decisions.
//
// A Machine carries out the calls of one process in one election: it acquires
// (asks all nodes, brings them to one token, hurries stragglers, gives back what
// was of no use), renews (and mends nodes that do not hold the lease), and
// releases. It has no clock, no goroutine, no context and no network: times, calls
// and answers go into Step, requests to nodes, outcomes of calls and the next time
// to wake up come out. What counts is decided by smaller values below it: Claim,
// what is known of one nonce; Attempt, what the nodes have answered; Rivalry, what
// is kept in mind between attempts; Announced, what the nodes have announced.
//
// elector/quorumstore runs the machine in production, sim/virtual in virtual time.
// The program that runs it must
//
//   - send every request after the Step that made it, and end it with Answer, once,
//     however late the answer comes;
//   - tell Silence when a request's Patience is over before that;
//   - tell GiveUp when nobody waits for a call any more, unless it has ended;
//   - call Step with Wake at Output.Wake at the latest; earlier is harmless;
//   - repeat an attempt on the machine that made the first one.
package quorum

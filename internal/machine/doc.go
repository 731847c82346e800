// Package machine makes the elector's decisions. It is a pure state machine:
// time and everything that happens go into Step, requests to the store, the
// next time to wake up and the transitions come out. It knows no goroutine, no
// context, no clock and no network, so the same machine runs in production
// (package elector) and in simulated worlds.
//
// The program that runs a Machine must
//
//   - call Step with Start once, and then with every answer, hint and order,
//     and with Wake at Output.Wake at the latest. Earlier is harmless, and from
//     Output.Early on it does what is due then: so machines of one process can be
//     woken together;
//   - apply Output.Transitions before it sends Output.Requests: a term
//     ends before anything else happens;
//   - send every request after the Step that made it (the lease counts from
//     that Step's time), and give up on it after Request.Timeout;
//   - answer each request at most once, however late, with Answer;
//   - report the end of a term's work with WorkEnded, once per Elected: the lease
//     is given back then. If callbacks of the term go on, report with Returned when
//     the last of them has returned. Until then the machine does not compete again.
package machine

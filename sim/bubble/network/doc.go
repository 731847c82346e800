// Package network is a network in memory, for programs in a bubble of fake time
// (testing/synctest): connections that behave as those of TCP do, over ways that
// faults make slow, lossy, silent or refusing.
//
// It serves code that knows nothing of it, by a dial function, and promises:
//
//   - A write never blocks. Who blocks in a write mostly holds a lock, and who
//     waits for a lock keeps fake time from passing.
//   - Bytes arrive in order, each message after a time of its own that is drawn
//     from the link's seed, the number of the dial, the direction and nothing
//     else: the same program gets the same times.
//   - What was written arrives once, as long as both ends live. What a hole
//     swallowed is sent again when the hole is mended, at the times at which TCP
//     would, also if its sender has closed the connection meanwhile, or has died.
//   - A process that stands still neither sends nor receives until it goes on.
//
// Not modelled are windows and congestion (a receiver takes any amount), segments
// (a write is one message), keep-alive probes, and connections that TCP gives up
// after a quarter of an hour.
package network

// Package live runs a plan on real things: candidates are processes, Redis is a server, and
// toxiproxy stands between them, with a proxy for each candidate.
//
// [Open] makes a [Session] with a server. Its Run carries out one plan and returns the history.
// Signals, proxies and the server make the faults real. What the machine itself holds up is
// recorded as a stall.
//
// Runs take real time, and no two are equal. The package runs on Linux and macOS.
//
// Read first: docs/architecture.md, then session.go.
package live

// Package virtual runs a plan in simulated time, on one goroutine, from one seed. The same plan
// gives the same history, to the byte. An hour passes in milliseconds.
//
// [World] is the entry. The elector's state machine (internal/machine) runs as it ships. Its
// shell is package session here, other electors are coroutines, and the store is a model of
// Redis: package redismodel, which its tests compare with a real server.
//
// The Redis client, sockets and goroutines of the elector do not run here. Package bubble has
// those.
//
// Read first: docs/architecture.md, then world.go.
package virtual

// Package containers is the world of hosts that are Docker containers: each
// candidate, each Redis and each Sentinel is one of its own. They reach each other over
// networks, out of which faults take them; they are paused, killed and started again
// by Docker.
//
// The Docker Engine must be on this machine. There is one CLOCK_MONOTONIC for all
// containers of a machine, which is how candidates stamp what they do, and the
// protected resource is served at this machine's address in a network of theirs.
package containers

// Package network is the way of every candidate to the store: one toxiproxy
// proxy per candidate and store node, which can be cut, slowed and healed.
//
// The toxiproxy server runs inside the harness, on a loopback port, and is
// driven through its HTTP client, as an outside one is.
//
// Every call to toxiproxy is bounded in time. That is needed: taking a toxic
// off a connection can hang for ever, when a piece of data waits for a reader
// that has gone. The proxy is then deleted and made again at the same address,
// which closes its connections. What hangs inside toxiproxy (a few goroutines
// for each such connection) stays until the process ends; nothing can reach it.
package network

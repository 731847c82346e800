// Package loopback finds ports on 127.0.0.1 that can be closed and opened
// again.
package loopback

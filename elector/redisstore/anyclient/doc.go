// Package anyclient keeps leases in Redis over the Redis client that a program already
// has: rueidis, valkey-go, redigo, or one of its own. The program needs no second client
// with connections, credentials and limits of its own.
//
// # How it works
//
// The store is package redisstore, which speaks through go-redis. This package gives
// go-redis connections that lead into the program's client: each command is read off such
// a connection, given to a [Client], and its reply is written back. So every promise of
// redisstore holds, and every script is the same.
//
// A Client is an adapter of about a hundred lines. The folder examples/clients has those for
// rueidis, valkey-go and redigo, to be copied.
//
// # What the client must do
//
//   - Every command goes to one primary. A client that sends reads to replicas, or that
//     spreads commands over a cluster, breaks promises: use [redisstore.New] there.
//   - No command is sent twice. Only the elector knows how long a request is still worth
//     something, and a release that is repeated hides that the first one took effect. Most
//     clients have a setting for that.
//   - The server's errors are an [Error] with the server's words. Every other error means
//     that nobody knows whether the command took effect.
//   - Calls end when their context is done.
//
// # What is different
//
// [redisstore.FromClient] says what holds for a client whose connections the store does
// not know. In addition:
//
//   - The store cannot make the client connect anew. Where the client stays connected to a
//     server that was demoted, nobody leads until the client notices.
//   - After Close, subscriptions end within 3 s.
//   - The contexts that a Client gets have deadlines, and no values of the callers.
package anyclient

// Package redisserver is a Redis server in memory: the Redis of package
// redismodel, which runs scripts from their Lua text, behind connections that
// speak its protocol. It is for programs in a bubble of fake time: it has no
// goroutine but those of its connections, and nobody waits for a lock of its for
// longer than a command takes.
package redisserver

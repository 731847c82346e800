// Package redismodel is a model of a Redis server, for a world in which time
// is made up: the same commands and scripts with the same replies as Redis
// 7.0, but pure. It has no goroutine, no clock and no network: the caller says
// what time it is on the server's wall clock, and the same calls give the same
// replies. A command or script takes about a tenth of a microsecond, and puts
// nothing on the heap unless it stores something new.
//
// The model knows the commands that leases and elections are made of (see
// [Server.Do]), scripts by their Lua text or, quicker, by a port of their meaning to Go ([Script]), expiry to
// the millisecond, eviction, what is left after a crash with each kind of
// persistence, and replicas that lag behind. Its tests run the same random
// commands and the documented scripts against it, a real redis-server, and
// miniredis: where these disagree, the model does as the real server.
//
// # Time
//
// Redis decides by its wall clock, in whole milliseconds, whether a key has
// expired: it has when the clock is past its expiry time, so during the very
// millisecond that is its expiry time it is still there. Each call is given
// the wall clock's time, and it may go back: a clock that is set or steps is
// just another time in the next call. A step forward ends keys early; a step
// back makes them last longer, but does not bring back what was deleted. An
// expired key is deleted when it is accessed, or else by the cycle that runs
// each 100 ms; until then a step back makes it valid again, as in Redis.
//
// # What is not modelled
//
// Connections (so no transactions, blocking commands and messages in flight),
// the libraries that Redis adds to Lua, bytes of memory (a limit is a number
// of keys), databases other than 0, access rights, clusters. A hash keeps the
// order of insertion at any size, as a small one does in Redis. Integers in
// ports of scripts are exact, where Lua's are to 2^53. What an append-only file or a
// snapshot may suffer beyond the loss of its last part is not modelled either.
package redismodel

// Package jobs draws what a lock for jobs meets: hosts that start a job by the clock,
// at one moment, a little later, or much later; jobs that are done at once, take longer
// than their least or their longest time, never end, heed no context, fail or panic;
// hosts that are paused, crash, shut down, and are cut off; a server that forgets,
// refuses, hangs, restarts and is replaced.
//
// What ships is what runs: elector/joblock, called as a program does and as elect run
// --once does, the elector, elector/redisstore, the Redis client and the scripts. A case
// is drawn from one number, and carried out in a bubble of fake time, so Run must be
// called inside synctest.Test.
//
// The world knows the truth: after each command it looks at what the server holds of a
// lock. Each case is held to what the documents of joblock say, and of the calls and the
// health checks that are used beside it: see [Obligations].
package jobs

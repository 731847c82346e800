// Package topology starts private Redis servers in the arrangements in which
// people run them: one alone, a primary with replicas, the same behind
// Sentinels, a cluster, and several that know nothing of each other. They are
// real processes on loopback, for tests and for the live world; the elector
// itself does not know this package.
//
// A server keeps nothing on disk unless its settings say so, and is gone after
// Launcher.Close, or, on Linux, as soon as the process that started it is
// killed. Everything that a topology needs to be of use has happened when its
// function returns: replicas are in step, Sentinels know each other and the
// replicas, a cluster accepts writes on all slots.
//
// A PostgreSQL is here, too, for those who test on one (StartPostgres).
//
// Replicas and Sentinels log in as users of their own (ReplicaUser,
// SentinelUser). To bar such a user is to cut the connection between two
// servers while clients still reach both: that is how Server.Sever makes a
// replica lag, and how Server.Isolate makes an old primary that nobody but its
// clients can reach.
package topology

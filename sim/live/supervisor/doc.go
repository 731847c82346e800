// Package supervisor ends what a harness has started when the harness itself ends,
// however it ends: also by SIGKILL, in which it can do nothing any more.
//
// The supervisor is a small child process: the harness's own program, started
// again in a session of its own. It reads, from a pipe whose other end only
// the harness holds, what it has to guard. When the harness dies the kernel
// closes that end; the supervisor then kills the process groups that are left
// (stopped ones too), removes the directories and what Docker has of it, and exits.
// Nothing that the harness started is alive two seconds later, if Docker is not busy
// with other things.
//
// What it cannot do: a process that leaves its process group (setsid) is found only on
// Linux, and if it was given a Marker; and a harness whose supervisor was killed first is not guarded,
// though on Linux its direct children die with it even then.
//
// The live world runs on Linux and on macOS. Elsewhere the package compiles,
// and Start returns ErrUnsupported.
package supervisor

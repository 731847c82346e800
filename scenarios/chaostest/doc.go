// Package chaostest tests a leader elector on Redis, of anybody's, in its own
// repository, by one call in a test:
//
//	func TestElector(t *testing.T) {
//		chaostest.Run(t, compete, chaostest.Scenarios("crash-leader", "partition-leader", "pause-leader"))
//	}
//
// compete makes one candidate of the elector and lets it compete until its context is
// done; see [New]. Each scenario is a subtest in each world: in [Bubble], which is fake
// time and takes no time to speak of, and in [Live], where candidates are processes on
// a real Redis behind proxies. A promise that is broken fails the test with the
// sentence that the report says of it, the events that decide it, and the report's path.
//
// Nothing is needed but the call: no TestMain, no flag, no registration. For the
// processes of both worlds the test's own binary is started again, with the flag that
// makes it run this one test; in them, Run does the work of that process and ends it.
// What stands before Run in the test, and a TestMain, is therefore executed in each of
// those processes, too; [Child] tells them apart.
//
// There is a third world in this module, virtual time (package sim/virtual). It runs
// functions that get everything from their host, even time, and have no goroutine. An
// ordinary elector has goroutines and timers, so it cannot run there, and there is no
// World for it here.
package chaostest

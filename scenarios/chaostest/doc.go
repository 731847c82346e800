// Package chaostest tests a leader elector on Redis, of anybody's, in its own
// repository, by one call in a test:
//
//	func TestElector(t *testing.T) {
//		chaostest.Run(t, compete, chaostest.Scenarios("crash-leader", "partition-leader", "pause-leader"))
//	}
//
// compete makes one candidate of the elector and lets it compete until its context is
// done; see [New]. Each scenario is a subtest in each world: in [Virtual], where
// everything happens one after the other, in [Bubble], which is fake time, too, and in
// [Live], where candidates are processes on a real Redis behind proxies. A promise that is broken fails the test with the
// sentence that the report says of it, the events that decide it, and the report's path.
//
// Nothing is needed but the call: no TestMain, no flag, no registration. For the
// processes of all worlds the test's own binary is started again, with the flag that
// makes it run this one test; in them, Run does the work of that process and ends it.
// What stands before Run in the test, and a TestMain, is therefore executed in each of
// those processes, too; [Child] tells them apart.
package chaostest

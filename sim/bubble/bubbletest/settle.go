package bubbletest

import "testing/synctest"

// Settle waits until every other goroutine of the bubble waits for something. It is
// called in the bubble, by one goroutine at a time.
func Settle() { synctest.Wait() }

package elector

import "testing"

// Calls are made one at a time and in order, also when the goroutine that makes them ends
// just as there is another.
func TestAnnouncerCallsInOrder(t *testing.T) {
	var a announcer
	made := 0
	last := make(chan struct{}, 1)
	for i := range 20_000 {
		a.announce(func() {
			if made++; made != i+1 {
				t.Errorf("call %d is made as number %d", i+1, made)
			}
			if i%3 == 0 {
				last <- struct{}{}
			}
		})
		if i%3 == 0 {
			<-last // the goroutine is about to end
		}
	}
	a.wait()
	if made != 20_000 {
		t.Errorf("%d calls were made", made)
	}
}

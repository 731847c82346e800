package live

import (
	"sync"
	"testing"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/stage"
	"github.com/recount-io/recount/sim/wire"
)

// Who asks whether anything is understood waits for nobody who reads just then: a
// lock tells what it reads while it is held.
func TestUnreadWhileReading(t *testing.T) {
	lock := wire.NewLock(wire.Options{Wall: time.Now, Prefix: "e1"})
	recorder := history.NewRecorder(func() time.Duration { return time.Second })
	leaders := stage.NewLeadership([]string{"n1"})
	x := &taps{Reading: wire.NewReading(lock, recorder, func(e history.Event) { leaders.See(e) }), lock: lock}
	var working sync.WaitGroup
	working.Go(func() {
		conn := x.Conn("n1")
		for range 20_000 {
			conn.Send([]string{"SET", "e1:lock", "n1", "NX", "PX", "60000"}).Answer(wire.Value{Kind: wire.Status, Text: "OK"})
		}
	})
	working.Go(func() {
		for range 20_000 {
			x.unread()
		}
	})
	working.Wait()
}

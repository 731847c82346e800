package live

import (
	"errors"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/history"
)

// What a store does while it is being killed is read before it is lost with it.
func TestAuditWhileDying(t *testing.T) {
	server := miniredis.RunT(t)
	st, err := redisstore.New(&redis.UniversalOptions{Addrs: []string{server.Addr()}}, redisstore.Options{Audit: true, Unprotected: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	read := make(chan history.Event, 1)
	recorder := history.NewRecorder(func() time.Duration { return time.Second })
	recorder.Observe(func(e history.Event) { read <- e })
	a := &auditor{store: st, election: "billing", recorder: recorder}
	died := errors.New("it died")
	err = a.while(t.Context(), func() error {
		_, err := st.Acquire(t.Context(), store.Attempt{Election: "billing", ID: "n1", Nonce: "n1/1/x", Request: 7, TTL: time.Second})
		if err != nil {
			return err
		}
		select {
		case e := <-read:
			if e.Kind != history.Audit || e.Call != history.Acquire || e.Try != 7 || e.Applied == nil || !*e.Applied {
				t.Errorf("read was %+v", e)
			}
		case <-time.After(patience):
			t.Error("nothing was read while it was being killed")
		}
		server.FlushAll()
		return died
	})
	if !errors.Is(err, died) {
		t.Errorf("the error is %v", err)
	}
}

// An entry that comes again counts as known for as long as it may come, and what is
// remembered does not grow with the run.
func TestRecent(t *testing.T) {
	var r recent
	entry := func(n int) redisstore.AuditEntry { return redisstore.AuditEntry{Request: uint64(n)} }
	most := 0
	for n := range 5 * remembered {
		if r.repeats(entry(n)) {
			t.Fatalf("entry %d came before", n)
		}
		for _, old := range []int{n, n - remembered/2, n - remembered + 1} {
			if old >= 0 && !r.repeats(entry(old)) {
				t.Fatalf("after %d entries, entry %d is new", n+1, old)
			}
		}
		most = max(most, len(r.now)+len(r.before))
	}
	if most > 2*remembered {
		t.Errorf("%d entries were remembered", most)
	}
}

package network

import (
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// Connections come and go while the toxics on them change. (toxiproxy panics when a
// toxic is added to a link that was closing while two were taken off it.)
func TestChurn(t *testing.T) {
	m := miniredis.RunT(t)
	n := start(t, Options{})
	l, err := n.Link("n1", m.Addr())
	ok(t, err)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 8 * runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				conn, err := net.DialTimeout("tcp", l.Addr(), soon)
				if err != nil {
					continue // the proxy is being made anew
				}
				_, _ = conn.Write([]byte("*1\r\n$4\r\nPING\r\n")) // a cut may be on
				_ = conn.Close()
			}
		})
	}
	defer wg.Wait()
	defer close(done)
	for range 100 {
		ok(t, l.Delay(time.Millisecond, 0))
		ok(t, l.Bandwidth(1000))
		ok(t, l.Cut(Both))
		ok(t, l.Heal())
	}
}

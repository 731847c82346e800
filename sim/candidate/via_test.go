package candidate

import (
	"net"
	"testing"

	"github.com/recount-io/recount/internal/loopback"
)

// A server that is known by another address is dialled there, any other one at
// its own.
func TestVia(t *testing.T) {
	accepted := make(chan string)
	listen := func(name string) string {
		addr, err := loopback.Serve(t.Context(), func(conn net.Conn) {
			_ = conn.Close() // that it came is all
			accepted <- name
		})
		if err != nil {
			t.Fatal(err)
		}
		return addr
	}
	server, proxy := listen("server"), listen("proxy")
	for _, c := range []struct {
		places map[string]string
		want   string
	}{{map[string]string{server: proxy}, "proxy"}, {map[string]string{"10.0.0.1:1": proxy}, "server"}} {
		conn, err := via(c.places)(t.Context(), "tcp", server)
		if err != nil {
			t.Fatal(err)
		}
		if got := <-accepted; got != c.want {
			t.Errorf("with %v the %s was dialled, want the %s", c.places, got, c.want)
		}
		_ = conn.Close() // the other end is gone
	}
}

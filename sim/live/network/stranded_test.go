package network

import (
	"bytes"
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"
)

// stranded finds what a connection leaves behind that was closed while a toxic held
// something. It does not find what works, or waits for anything else.
func TestStranded(t *testing.T) {
	const stacks = `goroutine 1 [running]:
main.main()
	/main.go:1 +0x1

goroutine 41 [chan send, 3 minutes]:
github.com/Shopify/toxiproxy/v2/toxics.(*LatencyToxic).Pipe(0xc0001, 0xc0002)
	/latency.go:52 +0x1a5
created by github.com/Shopify/toxiproxy/v2.(*ToxicLink).Start in goroutine 7
	/link.go:97 +0x6d1

goroutine 42 [chan send, 1 minute]:
github.com/Shopify/toxiproxy/v2/stream.(*ChanWriter).Write(0xc0003, {0xc0004, 0x10, 0x8000})
	/io_chan.go:32 +0xb4

goroutine 43 [chan send]:
github.com/Shopify/toxiproxy/v2/toxics.(*NoopToxic).Pipe(0xc0001, 0xc0002)
	/noop.go:17 +0x45

goroutine 44 [select, 9 minutes]:
github.com/Shopify/toxiproxy/v2/toxics.(*TimeoutToxic).Pipe(0xc0001, 0xc0002)
	/timeout.go:20 +0x45

goroutine 45 [chan send, 9 minutes]:
github.com/recount-io/recount/scenarios/soak.(*judge).take(0xc0001)
	/judge.go:17 +0x45
`
	if n := stranded([]byte(stacks)); n != 2 {
		t.Errorf("%d are stranded, want 2", n)
	}
	if n := Stranded(); n < 0 {
		t.Errorf("%d are stranded here", n)
	}
}

// The stacks of goroutines look as they are expected to: a connection whose reader is
// gone while a toxic waits leaves goroutines that send, in functions of toxiproxy.
func TestStrandedStacks(t *testing.T) {
	upstream, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer upstream.Close()
	n, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	link, err := n.Link("n1", upstream.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := link.Delay(100*time.Millisecond, 0); err != nil {
		t.Fatal(err)
	}
	first, err := upstream.Accept() // of the network, which has looked whether it gets there
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Close() })
	client, err := net.Dial("tcp", link.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	server, err := upstream.Accept()
	if err != nil {
		t.Fatal(err)
	}
	// The server goes, reset, while pieces of what the client sent are held.
	for range 20 {
		if _, err := client.Write(make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Millisecond)
	}
	if err := errors.Join(server.(*net.TCPConn).SetLinger(0), server.Close()); err != nil { //nolint:forcetypeassert // it was accepted as one
		t.Fatal(err)
	}
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); <-time.After(10 * time.Millisecond) {
		all := make([]byte, 1<<20)
		all = all[:runtime.Stack(all, true)]
		for one := range bytes.SplitSeq(all, []byte("\n\n")) {
			if sending.MatchString(strings.Replace(string(one), "[chan send]:", "[chan send, 1 minutes]:", 1)) {
				return
			}
		}
	}
	t.Error("no goroutine of toxiproxy is stranded: is it mended?")
}

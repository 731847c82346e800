package pgstore

import (
	"bytes"
	"fmt"
	"net"
	"sync"
	"testing"
)

// proxy stands between a store and the server, as a network does.
type proxy struct {
	t      testing.TB
	listen net.Listener
	to     string
	alter  []func([]byte)

	mu     sync.Mutex
	frozen chan struct{} // closed when it thaws; nil while it passes all on
	conns  []net.Conn
	all    sync.WaitGroup
}

// proxy makes one. Each alter changes what the server says.
func (s *server) proxy(t testing.TB, alter ...func([]byte)) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, listen: l, to: fmt.Sprintf("127.0.0.1:%d", s.port), alter: alter}
	p.all.Go(p.serve)
	t.Cleanup(func() {
		p.thaw()
		l.Close()
		p.cut()
		p.all.Wait()
	})
	return p
}

func (p *proxy) url(name string) string {
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", p.listen.Addr(), name)
}

func (p *proxy) serve() {
	for {
		client, err := p.listen.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.to)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		p.all.Go(func() { p.pass(client, server, nil) })
		p.all.Go(func() { p.pass(server, client, p.alter) })
	}
}

// pass passes on what comes, and the end of it; nothing while it is frozen.
func (p *proxy) pass(from, to net.Conn, alter []func([]byte)) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		frozen := p.frozen
		p.mu.Unlock()
		if frozen != nil {
			<-frozen
		}
		for _, change := range alter {
			change(buffer[:n])
		}
		if _, werr := to.Write(buffer[:n]); werr != nil || err != nil {
			_ = from.Close()
			_ = to.Close()
			return
		}
	}
}

// freeze lets nothing through any more, the end of connections neither.
func (p *proxy) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = make(chan struct{})
}

func (p *proxy) thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen != nil {
		close(p.frozen)
		p.frozen = nil
	}
}

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

// otherProcess makes the server promise another process than the one that
// answers, as poolers do.
func otherProcess(said []byte) {
	if i := bytes.Index(said, []byte("K\x00\x00\x00\x0c")); i >= 0 && len(said) >= i+9 {
		said[i+8] ^= 0xff
	}
}

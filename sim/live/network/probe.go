package network

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"
)

const probeTimeout = 2 * time.Second

// As an array, not inline: the embedded Redis understands nothing else.
const ping = "*1\r\n$4\r\nPING\r\n"

// Probe opens a new connection through the link, sends PING, and returns how
// long the answer took; a server that answers with an error (no password given,
// still loading) has answered. Over TLS the time is that of the PING alone,
// after the handshake. Without a deadline in ctx it gives up after 2 s.
//
// What the error is tells what the link does: syscall.ECONNREFUSED,
// syscall.ECONNRESET, io.EOF (the store cannot be reached from toxiproxy), or
// os.ErrDeadlineExceeded (something is lost, or slow).
func (l *Link) Probe(ctx context.Context) (time.Duration, error) {
	took, err := l.probe(ctx)
	if err != nil {
		return 0, fmt.Errorf("network: probe of %s: %w", l.name, err)
	}
	return took, nil
}

func (l *Link) probe(ctx context.Context) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", l.addr)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }() // it served its purpose
	// A context that ends early ends the read too.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if l.network.options.TLS {
		shaken := tls.Client(conn, &tls.Config{
			ServerName:         l.network.options.TLSServerName,
			InsecureSkipVerify: true, // see Options.TLS
		})
		// Not with ctx: it would hide the reason behind its own.
		if err := shaken.Handshake(); err != nil {
			return 0, err
		}
		conn = shaken
	}
	sent := time.Now()
	if _, err := conn.Write([]byte(ping)); err != nil {
		return 0, err
	}
	if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
		return 0, err
	}
	return time.Since(sent), nil
}

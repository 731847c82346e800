package redisserver

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// pingCommand is PING as an array, which every Redis understands, the embedded
// one too.
const pingCommand = "*1\r\n$4\r\nPING\r\n"

// plain completes the options of a client that does only what it is asked for: it
// repeats nothing, heeds its contexts, and starts no conversation of its own.
func plain(o redis.Options) *redis.Options {
	o.MaxRetries = -1
	o.DialerRetries = 1
	o.ContextTimeoutEnabled = true
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	if o.TLSConfig != nil {
		o.TLSConfig = o.TLSConfig.Clone()
	}
	return &o
}

// private is what the servers on a loopback port of ours have in common.
type private struct {
	addr, why string
}

func (p *private) Addr() string            { return p.addr }
func (p *private) Why() string             { return p.why }
func (p *private) Private() bool           { return true }
func (p *private) TLSServerName() string   { return "" }
func (p *private) Options() *redis.Options { return plain(redis.Options{Addr: p.addr}) }

func (p *private) CandidateURL(proxyAddr string) string {
	return (&url.URL{Scheme: "redis", Host: proxyAddr, Path: "/0"}).String()
}

// information asks for the fields of a section of INFO.
func information(ctx context.Context, o *redis.Options, section string) (map[string]string, error) {
	client := redis.NewClient(o)
	defer func() { _ = client.Close() }() // nothing is under way
	text, err := client.Info(ctx, section).Result()
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[key] = value
		}
	}
	return fields, nil
}

// answer sends a PING over a connection of its own, with TLS if there is a config, and
// returns the first line of the answer.
func answer(ctx context.Context, addr string, config *tls.Config) (string, error) {
	var dialer interface {
		DialContext(ctx context.Context, network, addr string) (net.Conn, error)
	} = &net.Dialer{}
	if config != nil {
		dialer = &tls.Dialer{Config: config}
	}
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }() // it served its purpose
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := conn.Write([]byte(pingCommand)); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(line), err
}

// await returns when the server answers PING with PONG: neither while it still
// loads its data nor before it listens. It ends early when ended is closed.
func await(ctx context.Context, addr string, ended <-chan struct{}) error {
	for {
		short, cancel := context.WithTimeout(ctx, time.Second)
		line, err := answer(short, addr, nil)
		cancel()
		if err == nil && line == "+PONG" {
			return nil
		}
		if err == nil {
			err = errors.New(strings.TrimPrefix(line, "-"))
		}
		select {
		case <-ended:
			return errors.New("it ended")
		case <-ctx.Done():
			return fmt.Errorf("it does not answer at %s: %w", addr, err)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// pause waits a little, if ctx is not over.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(2 * time.Millisecond):
		return nil
	}
}

// unreachableTime is how long a connection may take until nobody is at its address.
const unreachableTime = 500 * time.Millisecond

// awaitRefused returns when nobody listens at the address any more: connections are
// refused, or, where the address went with a container, lead nowhere.
func awaitRefused(ctx context.Context, addr string) error {
	dialer := net.Dialer{Timeout: unreachableTime}
	for {
		conn, err := dialer.DialContext(ctx, "tcp", addr)
		if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EHOSTUNREACH) || ctx.Err() == nil && errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		if err == nil {
			err = conn.Close()
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("redisserver: connections to %s are still accepted", addr), err)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

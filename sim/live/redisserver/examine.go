package redisserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// examine finds out whether a Redis answers with these options, and if not,
// why. It goes step by step (TCP, TLS, credentials), since the client's error
// alone does not tell one from the other: a server that expects TLS, for
// instance, closes the connection of one that does not speak it.
func examine(ctx context.Context, o *redis.Options) error {
	step, cancel := shorter(ctx)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(step, "tcp", o.Addr)
	if err != nil {
		return unreachable(o.Addr, dialText(err), err)
	}
	if err := conn.Close(); err != nil {
		return unreachable(o.Addr, "the connection broke", err)
	}
	if o.TLSConfig != nil {
		err = examineTLS(ctx, o)
	} else {
		err = examinePlain(ctx, o)
	}
	if err != nil {
		return err
	}
	return examineLogin(ctx, o)
}

func dialText(err error) string {
	var name *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.As(err, &name):
		return "no such host"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route to it"
	case timedOut(err):
		return "no answer in time"
	}
	return err.Error()
}

func timedOut(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded)
}

// examineTLS asks as a client of these options would.
func examineTLS(ctx context.Context, o *redis.Options) error {
	step, cancel := shorter(ctx)
	defer cancel()
	line, err := answer(step, o.Addr, o.TLSConfig)
	switch {
	case speaksHTTP(line):
		return isHTTP(o.Addr)
	case err == nil, alerted(err):
		return farewell(o, line) // the login says the rest
	}
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	mismatch := func(text string) error { return &Error{Kind: TLSMismatch, Text: text, Err: err} }
	switch {
	case errors.As(err, &unknown):
		return mismatch(fmt.Sprintf("the certificate of redis at %s is not trusted; set SSL_CERT_FILE to the file of its authority", o.Addr))
	case errors.As(err, &name):
		return mismatch(fmt.Sprintf("the certificate of redis at %s is not for %s; use the name that it is for", o.Addr, o.TLSConfig.ServerName))
	case errors.As(err, &invalid):
		return mismatch(fmt.Sprintf("the certificate of redis at %s is not valid: %v", o.Addr, invalid))
	}
	step, cancel = shorter(ctx)
	defer cancel()
	line, plainErr := answer(step, o.Addr, nil)
	switch {
	case plainErr == nil && speaksRedis(line):
		return mismatch(fmt.Sprintf("redis at %s does not speak TLS; use redis:// instead of rediss://", o.Addr))
	case speaksHTTP(line):
		return isHTTP(o.Addr)
	case timedOut(err):
		return unreachable(o.Addr, "it accepts connections, but the TLS handshake was not over in time", err)
	}
	return unreachable(o.Addr, "something listens there, but does not answer with TLS", err)
}

// examinePlain asks whether that which listens speaks Redis without TLS. What shakes
// hands for TLS need not be a Redis either: it is asked the same once more.
func examinePlain(ctx context.Context, o *redis.Options) error {
	step, cancel := shorter(ctx)
	defer cancel()
	line, err := answer(step, o.Addr, nil)
	if err == nil && speaksRedis(line) {
		return farewell(o, line)
	}
	step, cancel = shorter(ctx)
	defer cancel()
	// Whose certificate it is does not matter here. One that wants the client's answers
	// with an alert in place of PONG.
	secured, tlsErr := answer(step, o.Addr, &tls.Config{InsecureSkipVerify: true})
	switch {
	case speaksHTTP(line), speaksHTTP(secured):
		return isHTTP(o.Addr)
	case tlsErr == nil && speaksRedis(secured), alerted(tlsErr):
		return &Error{Kind: TLSMismatch, Text: fmt.Sprintf("redis at %s speaks TLS; use rediss:// instead of redis://", o.Addr)}
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return unreachable(o.Addr, "it accepts connections but does not answer", err)
	}
	return unreachable(o.Addr, "what listens there is not a Redis", err)
}

// farewell is the error of a server that says why before it closes the connection: a
// client that greets takes it for the answer to its greeting.
func farewell(o *redis.Options, line string) error {
	if strings.HasPrefix(line, "-DENIED") || strings.Contains(line, "max number of clients") {
		return refusal(o, errors.New(strings.TrimPrefix(line, "-")))
	}
	return nil
}

// speaksRedis knows the two kinds of answer to PING.
func speaksRedis(line string) bool {
	return strings.HasPrefix(line, "+PONG") || strings.HasPrefix(line, "-")
}

// speaksHTTP knows what a server for HTTP says to whatever it does not understand.
func speaksHTTP(line string) bool { return strings.HasPrefix(line, "HTTP/") }

func isHTTP(addr string) error {
	return unreachable(addr, "what listens there speaks HTTP, and is not a Redis", nil)
}

// alerted reports whether an error is what the other side of a connection with TLS has to
// say about it: that it wants a client's certificate, for instance.
func alerted(err error) bool {
	var said *net.OpError
	return errors.As(err, &said) && said.Op == "remote error"
}

// examineLogin sends PING as the user, and waits while the server loads.
func examineLogin(ctx context.Context, o *redis.Options) error {
	client := redis.NewClient(o)
	defer func() { _ = client.Close() }() // nothing is under way
	for loading := false; ; {
		err := client.Ping(ctx).Err()
		switch {
		case err == nil:
			return nil
		case strings.HasPrefix(err.Error(), "LOADING"):
			loading = true
		case loading && (ctx.Err() != nil || timedOut(err)): // a connection's deadline may come before the context's
			return unreachable(o.Addr, "it is still loading its data", err)
		default:
			return refusal(o, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// refusal puts into words why a server that speaks Redis does not serve us.
func refusal(o *redis.Options, err error) error {
	text := err.Error()
	credentials := func(text string) error { return &Error{Kind: Credentials, Text: text} }
	switch {
	case strings.HasPrefix(text, "DENIED"): // first: it speaks of passwords, too
		return credentials(fmt.Sprintf("redis at %s is in protected mode; give it a password, or connect from its own machine", o.Addr))
	case strings.Contains(text, "NOAUTH"):
		return credentials(fmt.Sprintf("redis at %s wants a password; put it into the URL: redis://user:password@%s", o.Addr, o.Addr))
	case strings.Contains(text, "WRONGPASS"), strings.Contains(text, "invalid password"):
		return credentials(fmt.Sprintf("redis at %s does not accept this user and password (WRONGPASS); correct them in the URL", o.Addr))
	case strings.Contains(text, "without any password configured"), strings.Contains(text, "no password is set"):
		return credentials(fmt.Sprintf("redis at %s has no password; take it out of the URL", o.Addr))
	case strings.Contains(text, "NOPERM"):
		what := "PING"
		if _, name, quoted := strings.Cut(text, "'"); quoted {
			name, _, _ = strings.Cut(name, "'")
			what = strings.ToUpper(name)
		}
		return credentials(fmt.Sprintf("redis at %s does not allow this user to execute %s (NOPERM); give it the rights that this command prints: chaos acl", o.Addr, what))
	case strings.Contains(text, "max number of clients"):
		return &Error{Kind: Unsuitable, Text: fmt.Sprintf("redis at %s has no room for another connection (maxclients); raise it there, or end some of its clients", o.Addr)}
	case strings.Contains(text, "SELECT is not allowed in cluster mode"):
		return &Error{Kind: Unsuitable, Text: fmt.Sprintf("redis at %s is a node of a cluster, which has no database %d; give a Redis that is no cluster", o.Addr, o.DB)}
	case strings.Contains(strings.ToLower(text), "unknown command") && strings.Contains(strings.ToLower(text), "select"):
		return &Error{Kind: Unsuitable, Text: fmt.Sprintf("redis at %s has no databases, as a Sentinel has none; give the address of a primary", o.Addr)}
	case strings.HasPrefix(text, "MASTERDOWN"):
		return &Error{Kind: Unsuitable, Text: fmt.Sprintf("redis at %s is a replica whose primary is away; give the primary", o.Addr)}
	case strings.HasPrefix(text, "MISCONF"): // so it answers PING, too
		return &Error{Kind: Unsuitable, Text: fmt.Sprintf("redis at %s takes no writes, because it cannot save its data (MISCONF); make room on its disk, or mend its permissions, and BGSAVE there", o.Addr)}
	case strings.HasPrefix(text, "BUSY"):
		return &Error{Kind: Unsuitable, Text: fmt.Sprintf("redis at %s is busy with a script that does not end; wait, or SCRIPT KILL there", o.Addr)}
	case strings.Contains(text, "DB index"):
		return &Error{Kind: BadSpec, Text: fmt.Sprintf("redis at %s has no database %d; use a smaller number in the URL", o.Addr, o.DB)}
	case strings.Contains(text, "tls: certificate required"), strings.Contains(text, "tls: bad certificate"):
		return &Error{Kind: TLSMismatch, Text: fmt.Sprintf("redis at %s wants a client's certificate, which is not supported; set tls-auth-clients no there, or use another Redis", o.Addr)}
	}
	return unreachable(o.Addr, redact(text, o.Password), nil)
}

// redact hides the password: a server that does not know a command repeats its
// arguments.
func redact(text, password string) string {
	if password == "" {
		return text
	}
	return strings.ReplaceAll(text, password, "…")
}

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
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.As(err, &name):
		return "no such host"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route to it"
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	}
	return err.Error()
}

// examineTLS shakes hands as a client of these options would.
func examineTLS(ctx context.Context, o *redis.Options) error {
	step, cancel := shorter(ctx)
	defer cancel()
	err := shakeHands(step, o.Addr, o.TLSConfig)
	if err == nil {
		return nil
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
	if line, plainErr := answer(step, o.Addr); plainErr == nil && speaksRedis(line) {
		return mismatch(fmt.Sprintf("redis at %s does not speak TLS; use redis:// instead of rediss://", o.Addr))
	}
	return unreachable(o.Addr, "something listens there, but does not shake hands for TLS", err)
}

// examinePlain asks whether that which listens speaks Redis without TLS.
func examinePlain(ctx context.Context, o *redis.Options) error {
	step, cancel := shorter(ctx)
	defer cancel()
	line, err := answer(step, o.Addr)
	if err == nil && speaksRedis(line) {
		return nil
	}
	step, cancel = shorter(ctx)
	defer cancel()
	// Whose certificate it is does not matter here.
	if tlsErr := shakeHands(step, o.Addr, &tls.Config{InsecureSkipVerify: true}); tlsErr == nil {
		return &Error{Kind: TLSMismatch, Text: fmt.Sprintf("redis at %s speaks TLS; use rediss:// instead of redis://", o.Addr)}
	}
	if err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		return unreachable(o.Addr, "it accepts connections but does not answer", err)
	}
	return unreachable(o.Addr, "what listens there is not a Redis", err)
}

// speaksRedis knows the two kinds of answer to PING.
func speaksRedis(line string) bool {
	return strings.HasPrefix(line, "+PONG") || strings.HasPrefix(line, "-")
}

func shakeHands(ctx context.Context, addr string, config *tls.Config) error {
	dialer := tls.Dialer{Config: config}
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return conn.Close()
}

// examineLogin sends PING as the user, and waits while the server loads.
func examineLogin(ctx context.Context, o *redis.Options) error {
	client := redis.NewClient(o)
	defer func() { _ = client.Close() }() // nothing is under way
	for {
		err := client.Ping(ctx).Err()
		if err == nil {
			return nil
		}
		if !strings.HasPrefix(err.Error(), "LOADING") {
			return refusal(o, err)
		}
		select {
		case <-ctx.Done():
			return unreachable(o.Addr, "it is still loading its data", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// refusal puts into words why a server that speaks Redis does not serve us.
func refusal(o *redis.Options, err error) error {
	text := err.Error()
	credentials := func(text string) error { return &Error{Kind: Credentials, Text: text} }
	switch {
	case strings.Contains(text, "NOAUTH"):
		return credentials(fmt.Sprintf("redis at %s wants a password; put it into the URL: redis://user:password@%s", o.Addr, o.Addr))
	case strings.Contains(text, "WRONGPASS"), strings.Contains(text, "invalid password"):
		return credentials(fmt.Sprintf("redis at %s does not accept this user and password (WRONGPASS); correct them in the URL", o.Addr))
	case strings.Contains(text, "without any password configured"), strings.Contains(text, "no password is set"):
		return credentials(fmt.Sprintf("redis at %s has no password; take it out of the URL", o.Addr))
	case strings.Contains(text, "NOPERM"):
		return credentials(fmt.Sprintf("redis at %s does not allow this user to PING (NOPERM); give it the rights that the elector needs", o.Addr))
	case strings.HasPrefix(text, "DENIED"):
		return credentials(fmt.Sprintf("redis at %s is in protected mode; give it a password, or connect from its own machine", o.Addr))
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

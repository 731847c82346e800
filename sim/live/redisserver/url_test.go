//go:build linux || darwin

package redisserver

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/recount-io/recount/internal/loopback"
	"github.com/recount-io/recount/sim/live/supervisor"
)

const secret = "s3cr3t/#?@%"

func wantError(t *testing.T, err error, kind Kind, part string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no *Error", err)
	}
	text := err.Error()
	if e.Kind != kind || !strings.Contains(text, part) || strings.Contains(text, "\n") {
		t.Errorf("%s: %q, want %s: …%s… on one line", e.Kind, text, kind, part)
	}
	for cause := error(e); cause != nil; cause = errors.Unwrap(cause) {
		if strings.Contains(cause.Error(), "s3cr3t") {
			t.Errorf("%q contains the password", cause)
		}
	}
}

// A spec that cannot be read is an error, and the error does not repeat the password in
// it.
func TestBadSpecs(t *testing.T) {
	for _, spec := range []string{
		"postgres", "redis:6379",
		"http://:s3cr3t@localhost", "redis://", "redis:///1", "redis://localhost/one", "redis://localhost/-1",
		"redis://user:s3cr3t/#?@localhost:6379", "redis://:s3cr3t@local host", "redis://:s3cr3t%zz@localhost",
		"redis://localhost/0?max_retries=many", "redis://:s3cr3t@localhost/0?s3cr3t=1", "me:s3cr3t@localhost:6379",
	} {
		_, err := Open(t.Context(), spec, Options{})
		wantError(t, err, BadSpec, "redis://")
	}
}

// A port that no server can have is refused before anybody is called.
func TestInvalidPort(t *testing.T) {
	for _, spec := range []string{"redis://127.0.0.1:99999", "redis://127.0.0.1:0/0", "rediss://[::1]:65536"} {
		_, err := Open(t.Context(), spec, Options{})
		wantError(t, err, BadSpec, "invalid port: give a port from 1 to 65535")
	}
}

// What does not answer as a Redis should is named in the error, and soon.
func TestUnreachable(t *testing.T) {
	port, err := loopback.FreePort()
	ok(t, err)
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	secured := httptest.NewTLSServer(http.NotFoundHandler())
	defer secured.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	defer func() { _ = silent.Close() }() // nobody talks to it
	for at, part := range map[string]string{
		fmt.Sprintf("127.0.0.1:%d", port):      fmt.Sprintf("cannot reach redis at 127.0.0.1:%d: connection refused; start it or use --redis embedded", port),
		"recount.invalid:6379":                 "no such host",
		strings.TrimPrefix(web.URL, "http://"): "speaks HTTP, and is not a Redis",
		secured.Listener.Addr().String():       "speaks HTTP, and is not a Redis",
		silent.Addr().String():                 "accepts connections but does not answer",
		"tls:" + silent.Addr().String():        "the TLS handshake was not over in time",
	} {
		begun, scheme := time.Now(), "redis"
		addr, secure := strings.CutPrefix(at, "tls:")
		if secure {
			scheme = "rediss"
		}
		_, err := Open(t.Context(), scheme+"://:s3cr3t@"+addr, Options{Timeout: 600 * time.Millisecond})
		wantError(t, err, Unreachable, part)
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("%s: took %v", addr, took)
		}
	}
}

// locked is a real Redis with a password, and with users that may do little.
func locked(t *testing.T) (addr string) {
	needProcess(t)
	w, err := supervisor.Start()
	ok(t, err)
	t.Cleanup(func() { _ = w.Close() }) // ends the Redis
	port, err := loopback.FreePort()
	ok(t, err)
	addr = fmt.Sprintf("127.0.0.1:%d", port)
	cmd := exec.Command(program, "-")
	cmd.Dir = t.TempDir()
	// Over its input: a password never stands among the arguments.
	cmd.Stdin = strings.NewReader(fmt.Sprintf("port %d\nbind 127.0.0.1\nsave \"\"\nrequirepass \"%s\"\n"+
		"user me on >%s ~* &* +@all\nuser limited on >%s ~* &* +@all -info\nuser mute on >%s ~* &* -@all\n", port, secret, secret, secret, secret))
	p, err := w.Start(cmd)
	ok(t, err)
	t.Cleanup(func() { _ = p.Kill(); _ = p.Wait() }) // killed
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		line, err := answer(ctx, addr, nil)
		if err == nil && strings.HasPrefix(line, "-NOAUTH") {
			return addr
		}
		ok(t, ctx.Err())
	}
}

// Credentials are used, and if they are missing or wrong, or the user may not
// do enough, that is said without repeating them.
func TestCredentials(t *testing.T) {
	addr := locked(t)
	const encoded = "s3cr3t%2F%23%3F%40%25"
	for user, part := range map[string]string{
		"":                        "wants a password",
		":wrongs3cr3t@":           "WRONGPASS",
		"nobody:" + encoded + "@": "WRONGPASS",
		"mute:" + encoded + "@":   "NOPERM",
	} {
		_, err := Open(t.Context(), "redis://"+user+addr, Options{})
		wantError(t, err, Credentials, part)
	}
	for user, version := range map[string]string{
		":" + encoded + "@":        "url 7",
		"me:" + encoded + "@":      "url 7",
		"limited:" + encoded + "@": "url of unknown version",
	} {
		s := open(t, "redis://"+user+addr+"/2")
		if version != "url of unknown version" {
			version = "url "
		}
		if !strings.HasPrefix(s.Describe(), version) || s.Private() || s.Addr() != addr {
			t.Errorf("%q, %v, %s", s.Describe(), s.Private(), s.Addr())
		}
		c := connect(t, s)
		ok(t, c.Set(t.Context(), "key", "value", 0).Err())
		if c.Options().DB != 2 {
			t.Errorf("database %d", c.Options().DB)
		}
	}
	_, err := Open(t.Context(), "redis://:"+encoded+"@"+addr+"/999", Options{})
	wantError(t, err, BadSpec, "no database 999")
}

// Every refusal of a server becomes one line that says what to do, without the
// password that some servers repeat.
func TestRefusals(t *testing.T) {
	_, options, err := parse("redis://:s3cr3t@localhost/7")
	ok(t, err)
	for text, want := range map[string]struct {
		kind Kind
		part string
	}{
		"NOAUTH Authentication required.":                            {Credentials, "wants a password"},
		"NOAUTH HELLO must be called with the client authenticated":  {Credentials, "wants a password"},
		"WRONGPASS invalid username-password pair or user is":        {Credentials, "WRONGPASS"},
		"ERR invalid password":                                       {Credentials, "WRONGPASS"},
		"ERR AUTH <password> called without any password configured": {Credentials, "take it out"},
		"ERR Client sent AUTH, but no password is set":               {Credentials, "take it out"},
		"NOPERM this user has no permissions to run 'ping'":          {Credentials, "rights"},
		"DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default user.": {Credentials, "protected mode"},
		"ERR DB index is out of range":                    {BadSpec, "no database 7"},
		"remote error: tls: certificate required":         {TLSMismatch, "client's certificate"},
		"ERR unknown command `AUTH`, with args: `s3cr3t`": {Unreachable, "unknown command"},
	} {
		wantError(t, refusal(options, errors.New(text)), want.kind, want.part)
	}
}

// A Redis given by URL is not disturbed.
func TestSharedIsNotDisturbed(t *testing.T) {
	m := miniredis.RunT(t)
	s := open(t, "redis://"+m.Addr())
	for _, err := range []error{s.Pause(t.Context()), s.Resume(t.Context()), s.Crash(t.Context()), s.Restart(t.Context(), false)} {
		wantError(t, err, Shared, "only a private Redis")
	}
	ok(t, s.Close())
	ok(t, connect(t, s).Ping(t.Context()).Err())
}

// certificate is one for a host, signed by an authority of its own, which it
// writes to a file.
func certificate(t *testing.T, host string) (c tls.Certificate, authority string) {
	t.Helper()
	key := must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "recount test"}, DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der := must[[]byte](t)(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))
	authority = filepath.Join(t.TempDir(), "authority.pem")
	ok(t, os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, authority
}

// TLS on one side only, an unknown authority and a wrong name are different errors;
// and with the authority in SSL_CERT_FILE the connection is
// made.
func TestTLS(t *testing.T) {
	c, authority := certificate(t, "localhost")
	secured, err := miniredis.RunTLS(&tls.Config{Certificates: []tls.Certificate{c}})
	ok(t, err)
	defer secured.Close()
	secured.RequireAuth("s3cr3t")
	plainly := miniredis.RunT(t)

	_, err = Open(t.Context(), "redis://:s3cr3t@"+secured.Addr(), Options{})
	wantError(t, err, TLSMismatch, "speaks TLS; use rediss://")
	_, err = Open(t.Context(), "rediss://:s3cr3t@"+plainly.Addr(), Options{})
	wantError(t, err, TLSMismatch, "does not speak TLS; use redis://")
	at := "rediss://:s3cr3t@localhost:" + secured.Port()
	_, err = Open(t.Context(), at, Options{})
	wantError(t, err, TLSMismatch, "set SSL_CERT_FILE")
	s := open(t, at+"?skip_verify=true")
	ok(t, connect(t, s).Set(t.Context(), "key", "value", 0).Err())

	trusting := func(spec string) string {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), role+"=open", "RECOUNT_REDISSERVER_SPEC="+spec, "SSL_CERT_FILE="+authority)
		out, _ := cmd.Output() // what it says tells
		return string(out)
	}
	if said := trusting(at); !strings.HasPrefix(said, "opened url") {
		t.Errorf("with its authority: %q", said)
	}
	if said := trusting("rediss://:s3cr3t@" + secured.Addr()); !strings.Contains(said, "is not for 127.0.0.1") {
		t.Errorf("by another name: %q", said)
	}
}

// A real Redis that expects TLS is recognised by its behaviour, not by that of
// the embedded one; and so is a real one that does not.
func TestTLSOfARealRedis(t *testing.T) {
	needProcess(t)
	s := open(t, "process")
	_, err := Open(t.Context(), "rediss://"+s.Addr(), Options{})
	wantError(t, err, TLSMismatch, "does not speak TLS; use redis://")
}

// A Docker that DOCKER_HOST names and that is not there is not a missing image, though
// another Docker may be at the usual place.
func TestDockerHostDead(t *testing.T) {
	port, err := loopback.FreePort()
	ok(t, err)
	host := fmt.Sprintf("tcp://127.0.0.1:%d", port)
	t.Setenv("DOCKER_HOST", host)
	_, err = Open(t.Context(), "docker", Options{Timeout: 10 * time.Second})
	wantError(t, err, Missing, host+" does not answer as Docker; start its daemon, correct DOCKER_HOST")
}

// Without Docker, or without an image, the error says what to do.
func TestDockerMissing(t *testing.T) {
	needDocker(t)
	t.Setenv(ImageVariable, "recount.invalid/no-such-image:1")
	_, err := Open(t.Context(), "docker", Options{Timeout: 10 * time.Second})
	wantError(t, err, Missing, "set "+ImageVariable+" to an image that is already here")

	_, err = Open(t.Context(), "docker", Options{Timeout: time.Nanosecond}) // as if it did not answer
	wantError(t, err, Missing, "does not answer as Docker; start its daemon")
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err = Open(stopped, "docker", Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped by its caller: %v", err)
	}
}

package redisstore

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/store"
)

const secret = "s3cr3t-%/?#-word"

// authority signs certificates for a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	a.key = newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.cert, a.pem = sign(t, template, template, a.key, a.key)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t *testing.T, template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) (*x509.Certificate, []byte) {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// issue makes the files of a certificate for 127.0.0.1 that ends at the time.
func (a *authority) issue(t *testing.T, until time.Time) (cert, key string) {
	t.Helper()
	k := newKey(t)
	_, certPEM := sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "redis"},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}, a.cert, k, a.key)
	der, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	return tempFile(t, "cert.pem", certPEM), tempFile(t, "key.pem", keyPEM)
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// startTLS starts a server that speaks TLS only.
func (a *authority) startTLS(t *testing.T, until time.Time, settings ...string) *server {
	t.Helper()
	cert, key := a.issue(t, until)
	settings = append([]string{
		"--port", "0", "--tls-port", "PORT", "--tls-cert-file", cert, "--tls-key-file", key,
		"--tls-ca-cert-file", tempFile(t, "ca.pem", a.pem), "--tls-auth-clients", "no",
	}, settings...)
	return startOwn(t, &redis.Options{TLSConfig: &tls.Config{RootCAs: a.pool()}, Password: secret}, settings...)
}

// TLS, user, password and database of a URL are used as they stand there.
func TestTLSUserAndDatabase(t *testing.T) {
	a := newAuthority(t)
	r := a.startTLS(t, time.Now().Add(time.Hour), "--requirepass", secret)
	r.do(t, "ACL", "SETUSER", "alice", "on", ">"+secret, "~recount:*", "&recount:*",
		"+evalsha", "+eval", "+get", "+set", "+del", "+pexpire", "+pttl",
		"+info", "+time", "+hset", "+hget", "+hmget", "+hdel", "+pexpireat",
		"+publish", "+subscribe", "+ping", "+select", "+pubsub|numsub", "+rpush", "+lrange", "+ltrim")
	opts, err := ParseURL("rediss://alice:s3cr3t-%25%2F%3F%23-word@" + r.addr + "/5")
	if err != nil {
		t.Fatal(err)
	}
	opts.TLSConfig.RootCAs = a.pool()
	s := openAt(t, opts, Options{Audit: true, Unprotected: true})
	watching(t, r, s, 1)
	first := attempt("n1", "a")
	g := mustAcquire(t, r, s, first)
	if g.Waiters != 1 {
		t.Errorf("%d waiters", g.Waiters)
	}
	if err := s.Renew(r.ctx, lease(first, g.Token)); err != nil {
		t.Error(err)
	}
	if err := s.Release(r.ctx, lease(first, g.Token)); err != nil {
		t.Error(err)
	}
	if entries, err := s.DrainAudit(r.ctx, "billing"); err != nil || len(entries) != 3 {
		t.Errorf("audit %v, %v", entries, err)
	}
	if err := s.Retire(r.ctx, "billing"); err != nil {
		t.Error(err)
	}
	mustAcquire(t, r, s, first)
	if got := r.do(t, "DBSIZE"); got != int64(0) {
		t.Errorf("%v keys in database 0", got)
	}
	if got, err := r.admin.Do(r.ctx, "INFO", "keyspace").Text(); err != nil || !strings.Contains(got, "db5:") {
		t.Errorf("the keys are not in database 5: %v, %v", got, err)
	}
}

// Who has the rights that elections need, and no more, is elected, on a server that has
// forgotten an election, too.
func TestFewRightsAreEnough(t *testing.T) {
	r := startOwn(t, &redis.Options{Password: secret}, "--requirepass", secret)
	r.do(t, "ACL", "SETUSER", "alice", "on", ">"+secret, "~recount:*", "&recount:*",
		"+evalsha", "+eval", "+get", "+set", "+del", "+pexpire", "+pttl",
		"+info", "+time", "+hset", "+hget", "+hmget", "+hdel", "+pexpireat",
		"+publish", "+subscribe", "+ping", "+pubsub|numsub")
	opts, err := ParseURL("redis://alice:s3cr3t-%25%2F%3F%23-word@" + r.addr + "/0")
	if err != nil {
		t.Fatal(err)
	}
	s := openAt(t, opts, Options{})
	first := attempt("n1", "a")
	first.TTL, first.Longest = 100*time.Millisecond, 100*time.Millisecond
	<-time.After(mustWithhold(t, r, s, first, "started"))
	mustAcquire(t, r, s, first)
}

// What is wrong with the credentials, rights, certificates or database is said
// at once, with what to do, and without the password.
func TestRefusedConnections(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	r := a.startTLS(t, time.Now().Add(time.Hour), "--requirepass", secret)
	r.do(t, "ACL", "SETUSER", "few", "on", ">"+secret, "~recount:*", "&recount:*", "+evalsha", "+eval", "+get", "+select")
	r.do(t, "ACL", "SETUSER", "elsewhere", "on", ">"+secret, "~elsewhere:*", "&*", "+@all")
	expired := a.startTLS(t, time.Now().Add(-time.Hour)).addr

	for _, c := range []struct {
		name, addr, user, password string
		db                         int
		roots                      *x509.CertPool
		serverName                 string
		fix                        string
	}{
		{"wrong password", r.addr, "", secret + "x", 0, a.pool(), "", "password"},
		{"wrong user", r.addr, "nobody", secret, 0, a.pool(), "", "password"},
		{"no password", r.addr, "", "", 0, a.pool(), "", "password"},
		{"too few rights", r.addr, "few", secret, 0, a.pool(), "", "rights"},
		{"other keys only", r.addr, "elsewhere", secret, 0, a.pool(), "", "rights"},
		{"no such database", r.addr, "", secret, 99, a.pool(), "", "database"},
		{"unknown authority", r.addr, "", secret, 0, other.pool(), "", "RootCAs"},
		{"other host", r.addr, "", secret, 0, a.pool(), "redis.example", "ServerName"},
		{"expired", expired, "", secret, 0, a.pool(), "", "certificate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := &redis.UniversalOptions{Addrs: []string{c.addr}, Username: c.user, Password: c.password, DB: c.db}
			if c.roots != nil {
				o.TLSConfig = &tls.Config{RootCAs: c.roots, ServerName: c.serverName}
			}
			s := openAt(t, o, Options{})
			_, err := s.Acquire(r.ctx, attempt("n1", "a"))
			var fatal *store.FatalError
			if !errors.As(err, &fatal) || !strings.Contains(fatal.Fix, c.fix) {
				t.Errorf("acquire: %v, want a FatalError whose fix has %q", err, c.fix)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the error tells the password: %v", err)
			}
			if c.name == "other keys only" {
				return // its watch is allowed
			}
			if err := watchEnd(r.ctx, s, "billing"); !errors.As(err, &fatal) {
				t.Errorf("watch: %v", err)
			}
		})
	}
}

// A user who may neither publish nor subscribe competes all the same.
func TestHintsAreForbidden(t *testing.T) {
	needRedis(t)
	r := startOwn(t, &redis.Options{Password: secret}, "--requirepass", secret)
	r.do(t, "ACL", "SETUSER", "deaf", "on", ">"+secret, "~recount:*", "resetchannels",
		"+evalsha", "+eval", "+get", "+set", "+del", "+pexpire", "+pttl",
		"+info", "+time", "+hset", "+hget", "+hmget", "+hdel", "+pexpireat")
	s := openAt(t, &redis.UniversalOptions{Addrs: []string{r.addr}, Username: "deaf", Password: secret}, Options{Unprotected: true})
	a := attempt("n1", "a")
	g := mustAcquire(t, r, s, a)
	_ = mustRefuse(t, r, s, attempt("n2", "b"))
	if err := s.Renew(r.ctx, lease(a, g.Token)); err != nil {
		t.Error(err)
	}
	if err := s.Release(r.ctx, lease(a, g.Token)); err != nil {
		t.Error(err)
	}
	var fatal *store.FatalError
	if err := watchEnd(r.ctx, s, "billing"); !errors.As(err, &fatal) {
		t.Errorf("watch: %v", err)
	}
}

package main

import (
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/sim/live/inspection"
)

// TestSharedRedisWithTLS shows the road to a staging Redis: TLS with a private
// authority, a user who may touch nothing but the run's keys and channels, a
// database number, and no key left behind.
func TestSharedRedisWithTLS(t *testing.T) {
	t.Parallel()
	authority, address := startLockedRedis(t)
	roots := x509.NewCertPool()
	pemText, err := os.ReadFile(authority)
	if err != nil || !roots.AppendCertsFromPEM(pemText) {
		t.Fatal("no certificate", err)
	}
	admin := connectLocked(t, roots, address)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := func() (out []byte, status int, err error) {
		cmd := exec.Command(self, append([]string{"run", "partition-leader", "crash-leader", "--prefix", "mine:"}, small(t.TempDir())...)...)
		cmd.Env = append(os.Environ(), asChaos+"=1", "SSL_CERT_FILE="+authority,
			"RECOUNT_REDIS=rediss://tester:"+secret+"@"+address+"/2")
		out, err = cmd.CombinedOutput()
		return out, cmd.ProcessState.ExitCode(), err
	}
	out, status, err := run()
	for try := 1; try < 5 && strings.Contains(string(out), "TLS handshake was not over in time"); try++ { // on a busy machine
		out, status, err = run()
	}
	if err != nil && status != statusUndecided { // likewise
		t.Errorf("%v\n%s", err, out)
	}
	if strings.Contains(string(out), secret) {
		t.Error("the password is in the output")
	}
	keys, err := admin.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) != 0 {
		t.Errorf("keys left: %v, %v", keys, err)
	}
}

// startLockedRedis starts a redis-server that speaks TLS only, and lets in
// only tester, and tester only to what begins with "mine:".
func startLockedRedis(t *testing.T) (authority, address string) {
	t.Helper()
	dir := t.TempDir()
	borrowed := httptest.NewTLSServer(nil) // for its certificate for 127.0.0.1
	defer borrowed.Close()
	pair := borrowed.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	authority = write("cert.pem", "CERTIFICATE", pair.Certificate[0])
	return authority, startServer(t, "redis-server", "port 0\ntls-port ",
		"bind 127.0.0.1", `save ""`, "tls-auth-clients no",
		"tls-cert-file "+authority, "tls-key-file "+write("key.pem", "PRIVATE KEY", key), "tls-ca-cert-file "+authority,
		"user default on >"+secret+"-admin ~* &* +@all",
		"user tester on >"+secret+" "+stagingRule())
}

// connectLocked connects as the administrator, once the server is there.
func connectLocked(t *testing.T, roots *x509.CertPool, address string) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL("rediss://default:" + secret + "-admin@" + address + "/2")
	if err != nil {
		t.Fatal(err)
	}
	options.TLSConfig.RootCAs = roots
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	for client.Ping(t.Context()).Err() != nil {
		select {
		case <-t.Context().Done():
			t.Fatal("redis-server never answered")
		case <-time.After(20 * time.Millisecond):
		}
	}
	return client
}

// freeAddress is an address at which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// stagingRule is all that the run's user may do: what "chaos acl" prints.
func stagingRule() string {
	_, rule, _ := strings.Cut(inspection.Rule("tester", "mine:", false), ">PASSWORD ")
	return rule
}

package pgstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"
)

// account is who PostgreSQL's processes run as: they refuse to run as root.
type account struct{ uid, gid int }

// server is a PostgreSQL of the tests' own.
type server struct {
	programs string // folder
	folder   string // all that it leaves
	port     int
	as       *account

	mu    sync.Mutex
	cmd   *exec.Cmd
	ended chan struct{}
}

// shared is one server for all tests. Each test has a database of its own.
var shared struct {
	once   sync.Once
	server *server
	err    error
}

var errNotInstalled = errors.New("no PostgreSQL here: neither initdb on PATH nor /usr/lib/postgresql/*/bin/initdb")

func TestMain(m *testing.M) {
	code := m.Run()
	if s := shared.server; s != nil {
		s.stop()
		_ = os.RemoveAll(s.folder)
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// startShared returns the server of all tests.
func startShared(t testing.TB) *server {
	t.Helper()
	shared.once.Do(func() { shared.server, shared.err = newServer() })
	need(t, shared.err)
	return shared.server
}

// startOwn starts a server for one test, which may restart it.
func startOwn(t testing.TB) *server {
	t.Helper()
	s, err := newServer()
	need(t, err)
	t.Cleanup(func() {
		s.stop()
		_ = os.RemoveAll(s.folder)
	})
	return s
}

func need(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, errNotInstalled) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func newServer() (_ *server, err error) {
	s := &server{}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(s.folder)
		}
	}()
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is a good one
		if len(found) == 0 {
			return nil, errNotInstalled
		}
		slices.Sort(found)
		initdb = found[len(found)-1]
	}
	// The other programs stand where it really is.
	if initdb, err = filepath.EvalSymlinks(initdb); err != nil {
		return nil, err
	}
	s.programs = filepath.Dir(initdb)
	if err := s.makeFolder(); err != nil {
		return nil, err
	}
	data := filepath.Join(s.folder, "data")
	cmd := s.command("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	// limited must give a password, everybody else is let in.
	access := "host all limited 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\nhost replication all 127.0.0.1/32 trust\n"
	if err := os.WriteFile(filepath.Join(data, "pg_hba.conf"), []byte(access), 0o644); err != nil {
		return nil, err
	}
	return s, s.startAnywhere()
}

// newStandby makes a server that follows this one.
func (s *server) newStandby() (_ *server, err error) {
	b := &server{programs: s.programs}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(b.folder)
		}
	}()
	if err := b.makeFolder(); err != nil {
		return nil, err
	}
	cmd := b.command("pg_basebackup", "-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-U", "postgres",
		"-D", filepath.Join(b.folder, "data"), "--write-recovery-conf", "--checkpoint=fast", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("pg_basebackup: %w: %s", err, out)
	}
	return b, b.startAnywhere()
}

// startAnywhere starts the server on a port that is free.
func (s *server) startAnywhere() (err error) {
	for range 5 { // another process may take the port between the look and the start
		if s.port, err = freePort(); err != nil {
			return err
		}
		if err = s.start(); err == nil || !strings.Contains(err.Error(), "Address already in use") {
			return err
		}
	}
	return err
}

// makeFolder makes the folder that the server lives in, in memory if it can.
func (s *server) makeFolder() error {
	parent := "/dev/shm"
	if _, err := os.Stat(parent); err != nil {
		parent = ""
	}
	var err error
	if s.folder, err = os.MkdirTemp(parent, "recount-pgstore-"); err != nil || os.Getuid() != 0 {
		return err
	}
	for _, name := range []string{"postgres", "nobody"} {
		who, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(who.Uid)
		gid, err2 := strconv.Atoi(who.Gid)
		s.as = &account{uid, gid}
		return errors.Join(err1, err2, os.Chown(s.folder, uid, gid))
	}
	return errors.New("we are root, which PostgreSQL refuses to run as, and there is neither a user postgres nor nobody")
}

func (s *server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.programs, name), args...)
	cmd.Dir = s.folder
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
	for _, e := range os.Environ() { // by which processes that are left are found
		if strings.HasPrefix(e, "CI_MARK=") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	dieWithUs(cmd, s.as)
	return cmd
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// start starts the server and waits until it says that it is ready. It syncs
// nothing: its machine will not crash.
func (s *server) start() error {
	args := []string{"-D", filepath.Join(s.folder, "data"), "-p", strconv.Itoa(s.port), "-k", ""}
	for _, setting := range []string{
		"listen_addresses=127.0.0.1", "fsync=off", "max_connections=200", "dynamic_shared_memory_type=mmap",
		"shared_buffers=16MB", "autovacuum=off", "max_wal_size=256MB", "logging_collector=off",
	} {
		args = append(args, "-c", setting)
	}
	cmd := s.command("postgres", args...)
	said := &lines{ready: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is ended: its status says nothing
		close(ended)
	}()
	s.mu.Lock()
	s.cmd, s.ended = cmd, ended
	s.mu.Unlock()
	select {
	case <-said.ready:
		return nil
	case <-ended:
		return fmt.Errorf("postgres ended: %s", said)
	case <-time.After(60 * time.Second):
		s.stop()
		return fmt.Errorf("postgres is not ready after 60s: %s", said)
	}
}

// stop ends the server, sessions and all, and waits for it.
func (s *server) stop() { s.end(os.Interrupt) } // "fast shutdown"

// crash ends it without a word to anybody.
func (s *server) crash() { s.end(syscall.SIGQUIT) } // "immediate shutdown"

func (s *server) end(how os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(how) // it may have ended by itself
	<-s.ended
	s.cmd = nil
}

// lines collects output and closes ready when the server accepts connections.
type lines struct {
	mu    sync.Mutex
	text  bytes.Buffer
	ready chan struct{}
	done  bool
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	if !l.done && bytes.Contains(l.text.Bytes(), []byte("is ready to accept ")) {
		l.done = true
		close(l.ready)
	}
	return len(p), nil
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// database is an empty database of one test, with a connection of the test's.
type database struct {
	server *server
	name   string
	url    string
	admin  *pgxpool.Pool
	ctx    context.Context
}

var databases atomic.Int64

// open makes a database on the shared server.
func open(t testing.TB) *database { return startShared(t).database(t) }

func (s *server) database(t testing.TB) *database {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	d := &database{server: s, name: fmt.Sprintf("test%d", databases.Add(1)), ctx: ctx}
	conn, err := pgx.Connect(ctx, s.url("postgres", "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, "create database "+d.name); err != nil {
		t.Fatal(err)
	}
	d.url = s.url("postgres", d.name)
	d.admin = d.pool(t, "postgres")
	return d
}

func (s *server) url(user, name string) string {
	return fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", user, s.port, name)
}

// pool connects as a user.
func (d *database) pool(t testing.TB, user string) *pgxpool.Pool {
	t.Helper()
	return poolAt(t, d.server.url(user, d.name))
}

func poolAt(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	cfg.MaxConns = 24 // as many as a test has candidates
	return poolOf(t, cfg)
}

func poolOf(t testing.TB, cfg *pgxpool.Config) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// store is a Store on a pool of its own, with its tables.
func (d *database) store(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := New(d.pool(t, "postgres"), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Migrate(d.ctx); err != nil {
		t.Fatal(err)
	}
	return s
}

// sessions is a SessionStore with its tables.
func (d *database) sessions(t testing.TB, o Options) *SessionStore {
	t.Helper()
	return d.sessionsAt(t, d.url, o)
}

func (d *database) sessionsAt(t testing.TB, url string, o Options) *SessionStore {
	t.Helper()
	s, err := NewSession(url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if err := s.Migrate(d.ctx); err != nil {
		t.Fatal(err)
	}
	return s
}

// do runs a statement of the test's own.
func (d *database) do(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := d.admin.Exec(d.ctx, sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// get runs a query of the test's own for one value.
func get[T any](t testing.TB, d *database, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := d.admin.QueryRow(d.ctx, sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// until asks again and again until a query says yes.
func (d *database) until(t testing.TB, sql string, args ...any) {
	t.Helper()
	for !get[bool](t, d, sql, args...) {
	}
}

func receive[T any](t testing.TB, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("no %s within 20s", what)
		panic("unreachable")
	}
}

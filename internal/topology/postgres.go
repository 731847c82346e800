package topology

import (
	"bufio"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/recount-io/recount/internal/loopback"
)

// defaultPort names the socket of a server that listens on no port.
const defaultPort = "5432"

// ErrNoPostgres says that no PostgreSQL is installed.
var ErrNoPostgres = errors.New("topology: no PostgreSQL is installed: neither initdb on PATH nor /usr/lib/postgresql/*/bin/initdb")

// Postgres is a PostgreSQL of its own, in memory where the system has a folder
// there. It keeps nothing after Stop, and lets everybody in who finds its
// socket, as user "postgres" of the database "postgres".
type Postgres struct {
	URL string // postgres://…, by its socket
	TCP string // host:port on the loopback interface, "" for one that StartPostgres started

	folder  string
	starter *starter
	cmd     *exec.Cmd
	ended   chan struct{}
}

// StartPostgres starts a server and returns when it accepts connections. The
// caller stops it. The error is ErrNoPostgres where there is none to be
// started.
func StartPostgres() (*Postgres, error) { return startPostgres(nil) }

// ListenPostgres is StartPostgres with a port on the loopback interface, by which
// everybody on this machine gets in.
func ListenPostgres() (*Postgres, error) { return startPostgres(loopback.FreePort) }

// startPostgres starts a server that listens on a port that freePort finds, or
// on none if that is nil.
func startPostgres(freePort func() (int, error)) (*Postgres, error) {
	initdb, err := findInitdb()
	if err != nil {
		return nil, err
	}
	p := &Postgres{starter: newStarter()}
	if err := p.start(initdb, freePort); err != nil {
		p.Stop()
		return nil, fmt.Errorf("topology: PostgreSQL: %w", err)
	}
	return p, nil
}

// SinglePostgres starts a server for a test, with which it ends. The test is
// skipped where there is none to be started.
func SinglePostgres(t T) *Postgres {
	t.Helper()
	p, err := StartPostgres()
	if errors.Is(err, ErrNoPostgres) {
		t.Skipf("%v", err)
	}
	Must[*Postgres](t)(p, err)
	t.Cleanup(p.Stop)
	return p
}

// HasPostgres reports whether StartPostgres finds something to start.
func HasPostgres() bool {
	_, err := findInitdb()
	return err == nil
}

// Stop ends the server at once, with all sessions, waits for it and removes
// what it has left. It may be called again.
func (p *Postgres) Stop() {
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(os.Interrupt) // "fast shutdown"; it may have ended
		<-p.ended
	}
	p.starter.close()
	_ = os.RemoveAll(p.folder) // empty before it is made
}

func findInitdb() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.EvalSymlinks(path) // the other programs stand where it really is
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // Debian's; the pattern is a good one
	if len(found) == 0 {
		return "", ErrNoPostgres
	}
	slices.Sort(found)
	return found[len(found)-1], nil
}

func (p *Postgres) start(initdb string, freePort func() (int, error)) error {
	if err := p.makeFolder(); err != nil {
		return err
	}
	data := filepath.Join(p.folder, "data")
	create, logs, err := p.run(initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
	if err != nil {
		return err
	}
	said := read(logs, "")
	if err := create.Wait(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, said)
	}
	server := filepath.Join(filepath.Dir(initdb), "postgres")
	if freePort == nil {
		return p.serve(server, data, "", defaultPort)
	}
	return again(func() error {
		port, err := freePort()
		if err != nil {
			return err
		}
		p.TCP = fmt.Sprintf("127.0.0.1:%d", port)
		return p.serve(server, data, "127.0.0.1", strconv.Itoa(port))
	})
}

// serve starts the server and returns when it is ready, or has ended. It syncs
// nothing: its machine will not crash.
func (p *Postgres) serve(server, data, host, port string) error {
	cmd, logs, err := p.run(server, "-D", data, "-k", p.folder, "-F",
		"-c", "listen_addresses="+host, "-c", "port="+port, "-c", "max_connections=200")
	if err != nil {
		return err
	}
	p.cmd, p.ended = cmd, make(chan struct{})
	return p.await(logs, port)
}

// run starts a program, and returns what it says.
func (p *Postgres) run(name string, args ...string) (*exec.Cmd, *bufio.Scanner, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = p.folder
	said, err := cmd.StderrPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := notAsRoot(cmd); err != nil {
		return nil, nil, err
	}
	if _, err := p.starter.start(cmd); err != nil {
		return nil, nil, err
	}
	return cmd, bufio.NewScanner(said), nil
}

// await waits until the server says that it is ready, and lets it talk on.
func (p *Postgres) await(logs *bufio.Scanner, port string) error {
	const ready = "ready to accept connections"
	said := read(logs, ready)
	go func() {
		read(logs, "")
		_ = p.cmd.Wait() // it was told to end: its status says nothing
		close(p.ended)
	}()
	if !strings.Contains(said, ready) {
		<-p.ended
		return fmt.Errorf("it ended: %s", said)
	}
	p.URL = (&url.URL{Scheme: "postgres", Path: "/postgres", RawQuery: url.Values{
		"host": {p.folder}, "port": {port}, "user": {"postgres"}, "sslmode": {"disable"},
	}.Encode()}).String()
	return nil
}

// read reads up to the line that has those words, or, without words, to the
// end.
func read(from *bufio.Scanner, words string) string {
	var lines []string
	for from.Scan() {
		lines = append(lines, from.Text())
		if words != "" && strings.Contains(from.Text(), words) {
			break
		}
	}
	return strings.Join(lines, "\n")
}

// makeFolder makes the folder that the server lives in. It is none of a test's:
// the name of a socket must be short, and the user that PostgreSQL runs as must
// be able to enter, though the folder for temporary files may be ours alone.
func (p *Postgres) makeFolder() (err error) {
	parent := "/dev/shm"
	if _, err := os.Stat(parent); err != nil {
		parent = ""
	}
	p.folder, err = os.MkdirTemp(parent, "recount-postgres-")
	return err
}

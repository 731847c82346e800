package redisserver

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/internal/loopback"
)

// Attended is a Server to which an administrator attends while clients are connected.
// Its methods may be called one after the other. The connections of clients that Options
// made are the harness's own; all others are the candidates'.
type Attended interface {
	Server

	// Move puts a replica, which has all that the server has, in the server's place, at
	// its address. Connections of candidates go on with the server before; left is how
	// many these are. That server answers each script that writes so, and said is
	// its answer. It lives until Settle.
	Move(ctx context.Context, code string) (left int, said string, err error)
	// Kick closes every connection of a candidate, and returns how many these were.
	Kick(ctx context.Context) (closed int, err error)

	// Admit makes a user for the candidates, whom CandidateURL names from then on. The
	// user's password is in the file. The other methods are for after Admit.
	Admit(ctx context.Context) (file string, err error)
	// Allow gives the user the right to run scripts, or takes it away.
	Allow(ctx context.Context, scripts bool) error
	// Password is the number of the server's password, or of the one in the file, and
	// SetPassword changes it.
	Password(inFile bool) int
	SetPassword(ctx context.Context, inFile bool, n int) error
	// Login connects as the user with the password in the file, and runs a script. It
	// returns the server's error.
	Login(ctx context.Context) error

	// Settle ends the servers before, and removes the user.
	Settle(ctx context.Context) error
}

var _ Attended = (*process)(nil)

const (
	ownName       = "recount-harness"   // of the harness's own connections
	candidateUser = "recount-candidate" // see Admit
	passwordName  = "password"          // of the file
	passwordRoom  = 4096
	scriptRights  = "eval evalsha eval_ro evalsha_ro fcall fcall_ro"
)

// login is how candidates log in.
type login struct {
	dir          string
	secret       string // what all passwords begin with
	server, file int    // the numbers of the passwords there
	barred       bool   // the user may not run scripts
}

func (l *login) password(n int) string { return l.secret + "-" + strconv.Itoa(n) }

// rules are the user's, for ACL SETUSER.
func (l *login) rules() []any {
	sign := "+"
	if l.barred {
		sign = "-"
	}
	all := []any{"reset", "on", "~*", "&*", "+@all", ">" + l.password(l.server)}
	for _, command := range strings.Fields(scriptRights) {
		all = append(all, sign+command)
	}
	return all
}

// Options implements Server.
func (p *process) Options() *redis.Options {
	o := p.private.Options()
	o.ClientName = ownName
	return o
}

// CandidateURL implements Server.
func (p *process) CandidateURL(proxyAddr string) string {
	if p.login == nil {
		return p.private.CandidateURL(proxyAddr)
	}
	user := url.UserPassword(candidateUser, p.login.password(p.login.server))
	return (&url.URL{Scheme: "redis", User: user, Host: proxyAddr, Path: "/0"}).String()
}

// Move implements Attended.
func (p *process) Move(ctx context.Context, code string) (left int, said string, err error) {
	err = p.change(running, func(state) (err error) {
		ctx, cancel := context.WithTimeout(ctx, 3*p.timeout) // for a start, a copy, and the rest
		defer cancel()
		if left, said, err = p.move(ctx, code); err != nil {
			err = fmt.Errorf("redisserver: cannot put a replica in the place of its primary: %w", err)
		}
		return err
	}, running)
	return left, said, err
}

func (p *process) move(ctx context.Context, code string) (left int, said string, err error) {
	opened, err := openProcess(ctx, Options{Warden: p.warden, Timeout: p.timeout}, "a replica")
	if err != nil {
		return 0, "", err
	}
	r := opened.(*process) //nolint:forcetypeassert // it always is
	c := redis.NewClient(p.Options())
	here := c.Conn() // a new one would come to lead to the replica
	defer func() { _ = errors.Join(here.Close(), c.Close()) }()
	if err := p.copyAll(ctx, r); err != nil {
		return 0, "", errors.Join(err, r.Close())
	}
	if err := p.swap(ctx, here, r); err != nil {
		return 0, "", errors.Join(err, here.Do(ctx, "CLIENT", "UNPAUSE").Err(), r.Close())
	}
	p.child, r.child, p.dir, r.dir = r.child, p.child, r.dir, p.dir
	p.former = append(p.former, r)
	_, theirs, err := connected(ctx, here) // before any of them is told
	err = errors.Join(err, demote(ctx, here, code, p.port), p.admit(ctx), here.Do(ctx, "CLIENT", "UNPAUSE").Err())
	if err != nil {
		return 0, "", err
	}
	if _, err := kill(ctx, here, true); err != nil {
		return 0, "", err
	}
	err = here.Eval(ctx, "return redis.call('DEL', KEYS[1])", []string{"recount-no-such-key"}).Err()
	if err == nil || !strings.HasPrefix(err.Error(), code) {
		return 0, "", fmt.Errorf("the former primary should answer %s, and answers %w", code, errors.Join(err, errors.New("a script that writes")))
	}
	return len(theirs), err.Error(), nil
}

// copyAll has r follow the server.
func (p *process) copyAll(ctx context.Context, r *process) error {
	here, there := redis.NewClient(p.Options()), redis.NewClient(r.Options())
	defer func() { _ = errors.Join(here.Close(), there.Close()) }() // nothing is under way
	if err := p.follow(ctx, here, there); err != nil {
		return err
	}
	return r.persisted(ctx)
}

// swap has nobody write to the server, and makes r a primary at its address, and the
// server one at another address.
func (p *process) swap(ctx context.Context, here *redis.Conn, r *process) error {
	if err := here.Do(ctx, "CLIENT", "PAUSE", p.timeout.Milliseconds(), "WRITE").Err(); err != nil {
		return err
	}
	if err := p.inStep(ctx, r); err != nil {
		return err
	}
	there := redis.NewClient(r.Options())
	defer func() { _ = there.Close() }() // nothing is under way
	if err := there.ReplicaOf(ctx, "NO", "ONE").Err(); err != nil {
		return err
	}
	aside, err := loopback.FreePort()
	if err != nil {
		return err
	}
	if err := here.ConfigSet(ctx, "port", strconv.Itoa(aside)).Err(); err != nil {
		return err
	}
	if err := there.ConfigSet(ctx, "port", strconv.Itoa(p.port)).Err(); err != nil {
		return errors.Join(err, here.ConfigSet(ctx, "port", strconv.Itoa(p.port)).Err())
	}
	return await(ctx, p.addr, r.child.Done())
}

// inStep returns when r has all that the server has.
func (p *process) inStep(ctx context.Context, r *process) error {
	for {
		mine, err := information(ctx, p.Options(), "replication")
		if err != nil {
			return err
		}
		its, err := information(ctx, r.Options(), "replication")
		if err != nil {
			return err
		}
		if mine["master_repl_offset"] == its["slave_repl_offset"] {
			return nil
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("the replica is at %s of %s: %w", its["slave_repl_offset"], mine["master_repl_offset"], err)
		}
	}
}

// demote makes a server that is no primary any more answer with the code. The new
// primary is at the port.
func demote(ctx context.Context, former *redis.Conn, code string, port int) error {
	const nobody = "1" // at this port
	switch code {
	case "READONLY":
		return former.Do(ctx, "REPLICAOF", "127.0.0.1", port).Err()
	case "NOREPLICAS":
		return former.ConfigSet(ctx, "min-replicas-to-write", "9").Err()
	case "MASTERDOWN":
		if err := former.ConfigSet(ctx, "replica-serve-stale-data", "no").Err(); err != nil {
			return err
		}
		return former.Do(ctx, "REPLICAOF", "127.0.0.1", nobody).Err()
	}
	return fmt.Errorf("no server can be made to answer %q: give READONLY, NOREPLICAS or MASTERDOWN", code)
}

// connected are the numbers of a server's connections: the harness's own, but for the one
// that asks, and the candidates'.
func connected(ctx context.Context, c *redis.Conn) (own, theirs []string, err error) {
	me, err := c.ClientID(ctx).Result()
	if err != nil {
		return nil, nil, err
	}
	list, err := c.ClientList(ctx).Result()
	if err != nil {
		return nil, nil, err
	}
	for line := range strings.Lines(list) {
		fields := map[string]string{}
		for _, field := range strings.Fields(line) {
			key, value, _ := strings.Cut(field, "=")
			fields[key] = value
		}
		switch {
		case fields["id"] == strconv.FormatInt(me, 10) || strings.ContainsAny(fields["flags"], "MS"): // replication
		case fields["name"] == ownName:
			own = append(own, fields["id"])
		default:
			theirs = append(theirs, fields["id"])
		}
	}
	return own, theirs, nil
}

// kill closes the harness's own connections to a server, or the candidates', and returns
// how many these were. One may end meanwhile.
func kill(ctx context.Context, c *redis.Conn, ours bool) (closed int, err error) {
	which, theirs, err := connected(ctx, c)
	if !ours {
		which = theirs
	}
	for _, id := range which {
		n, failed := c.ClientKillByFilter(ctx, "ID", id).Result()
		closed, err = closed+int(n), errors.Join(err, failed)
	}
	return closed, err
}

// Kick implements Attended.
func (p *process) Kick(ctx context.Context) (closed int, err error) {
	return closed, p.attend(ctx, func(c *redis.Conn) error {
		closed, err = kill(ctx, c, false)
		return err
	})
}

// attend calls act with a connection of the harness's own.
func (p *process) attend(ctx context.Context, act func(*redis.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	c := redis.NewClient(p.Options())
	conn := c.Conn()
	defer func() { _ = errors.Join(conn.Close(), c.Close()) }() // nothing is under way
	if err := conn.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("redisserver: %w", err)
	}
	if err := act(conn); err != nil {
		return fmt.Errorf("redisserver: %w", err)
	}
	return nil
}

// Admit implements Attended.
func (p *process) Admit(ctx context.Context) (file string, err error) {
	dir, err := p.warden.MemoryDirectory(passwordName, passwordRoom)
	if err != nil {
		return "", err
	}
	p.login = &login{dir: dir, secret: fmt.Sprintf("secret-%x", time.Now().UnixNano())}
	return filepath.Join(dir, passwordName), errors.Join(p.SetPassword(ctx, true, 0), p.admit(ctx))
}

// admit makes the server know the user, if there is one.
func (p *process) admit(ctx context.Context) error {
	if p.login == nil {
		return nil
	}
	return p.attend(ctx, func(c *redis.Conn) error {
		return c.Do(ctx, append([]any{"ACL", "SETUSER", candidateUser}, p.login.rules()...)...).Err()
	})
}

var errNobody = errors.New("redisserver: there is no user for the candidates: call Admit first")

// Allow implements Attended.
func (p *process) Allow(ctx context.Context, scripts bool) error {
	if p.login == nil {
		return errNobody
	}
	p.login.barred = !scripts
	return p.admit(ctx)
}

// Password implements Attended.
func (p *process) Password(inFile bool) int {
	switch {
	case p.login == nil:
		return 0
	case inFile:
		return p.login.file
	default:
		return p.login.server
	}
}

// SetPassword implements Attended. Who reads the file finds the one password or the other.
func (p *process) SetPassword(ctx context.Context, inFile bool, n int) error {
	switch {
	case p.login == nil:
		return errNobody
	case !inFile:
		p.login.server = n
		return p.admit(ctx)
	}
	p.login.file = n
	file := filepath.Join(p.login.dir, passwordName)
	if err := os.WriteFile(file+".new", []byte(p.login.password(n)+"\n"), 0o600); err != nil {
		return fmt.Errorf("redisserver: %w", err)
	}
	return os.Rename(file+".new", file)
}

// Login implements Attended.
func (p *process) Login(ctx context.Context) error {
	if p.login == nil {
		return errNobody
	}
	o := p.Options()
	o.Username, o.Password = candidateUser, p.login.password(p.login.file)
	c := redis.NewClient(o)
	defer func() { _ = c.Close() }() // nothing is under way
	return c.Eval(ctx, "return 1", nil).Err()
}

// Settle implements Attended.
func (p *process) Settle(ctx context.Context) error {
	var errs []error
	if p.login != nil {
		errs = append(errs, p.attend(ctx, func(c *redis.Conn) error { return c.ACLDelUser(ctx, candidateUser).Err() }))
	}
	return errors.Join(append(errs, p.forsake())...)
}

// forsake ends the servers before, and removes the file.
func (p *process) forsake() error {
	var errs []error
	for _, r := range p.former {
		errs = append(errs, r.Close())
	}
	p.former = nil
	if p.login != nil {
		errs = append(errs, p.warden.RemoveDirectory(p.login.dir))
		p.login = nil
	}
	return errors.Join(errs...)
}

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

	"github.com/recount-io/recount/internal/topology"
	"github.com/recount-io/recount/sim/live/supervisor"
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

// attendance is what an administrator does on every server to which candidates log in.
type attendance struct {
	supervisor *supervisor.Supervisor
	timeout    time.Duration
	servers    func() []*redis.Options // for the harness's own connections
	login      *login                  // of the candidates; nil: they need none
}

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

// user is whom candidates log in as; nil: nobody in particular.
func (a *attendance) user() *url.Userinfo {
	if a.login == nil {
		return nil
	}
	return url.UserPassword(candidateUser, a.login.password(a.login.server))
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
		case fields["user"] == topology.SentinelUser || fields["user"] == topology.ReplicaUser:
		case fields["name"] == ownName || fields["name"] == topology.ClientName:
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
func (a *attendance) Kick(ctx context.Context) (closed int, err error) {
	err = a.attend(ctx, func(c *redis.Conn) error {
		n, err := kill(ctx, c, false)
		closed += n
		return err
	})
	return closed, err
}

// attend calls act with a connection of the harness's own to each server.
func (a *attendance) attend(ctx context.Context, act func(*redis.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	for _, o := range a.servers() {
		c := redis.NewClient(o)
		conn := c.Conn()
		err := conn.Ping(ctx).Err()
		if err == nil {
			err = act(conn)
		}
		_ = errors.Join(conn.Close(), c.Close()) // nothing is under way
		if err != nil {
			return fmt.Errorf("redisserver: the server at %s: %w", o.Addr, err)
		}
	}
	return nil
}

// Admit implements Attended.
func (a *attendance) Admit(ctx context.Context) (file string, err error) {
	dir, err := a.supervisor.MemoryDirectory(passwordName, passwordRoom)
	if err != nil {
		return "", err
	}
	a.login = &login{dir: dir, secret: fmt.Sprintf("secret-%x", time.Now().UnixNano())}
	return filepath.Join(dir, passwordName), errors.Join(a.SetPassword(ctx, true, 0), a.admit(ctx))
}

// admit makes the servers know the user, if there is one.
func (a *attendance) admit(ctx context.Context) error {
	if a.login == nil {
		return nil
	}
	return a.attend(ctx, func(c *redis.Conn) error {
		return c.Do(ctx, append([]any{"ACL", "SETUSER", candidateUser}, a.login.rules()...)...).Err()
	})
}

var errNobody = errors.New("redisserver: there is no user for the candidates: call Admit first")

// Allow implements Attended.
func (a *attendance) Allow(ctx context.Context, scripts bool) error {
	if a.login == nil {
		return errNobody
	}
	a.login.barred = !scripts
	return a.admit(ctx)
}

// Password implements Attended.
func (a *attendance) Password(inFile bool) int {
	switch {
	case a.login == nil:
		return 0
	case inFile:
		return a.login.file
	default:
		return a.login.server
	}
}

// SetPassword implements Attended. Who reads the file finds the one password or the other.
func (a *attendance) SetPassword(ctx context.Context, inFile bool, n int) error {
	switch {
	case a.login == nil:
		return errNobody
	case !inFile:
		a.login.server = n
		return a.admit(ctx)
	}
	a.login.file = n
	file := filepath.Join(a.login.dir, passwordName)
	if err := os.WriteFile(file+".new", []byte(a.login.password(n)+"\n"), 0o600); err != nil {
		return fmt.Errorf("redisserver: %w", err)
	}
	return os.Rename(file+".new", file)
}

// Login implements Attended.
func (a *attendance) Login(ctx context.Context) error {
	if a.login == nil {
		return errNobody
	}
	o := a.servers()[0]
	o.Username, o.Password = candidateUser, a.login.password(a.login.file)
	c := redis.NewClient(o)
	defer func() { _ = c.Close() }() // nothing is under way
	return c.Eval(ctx, "return 1", nil).Err()
}

// Settle implements Attended.
func (a *attendance) Settle(ctx context.Context) error {
	if a.login == nil {
		return nil
	}
	err := a.attend(ctx, func(c *redis.Conn) error { return c.ACLDelUser(ctx, candidateUser).Err() })
	return errors.Join(err, a.revoke())
}

// revoke removes the file.
func (a *attendance) revoke() error {
	if a.login == nil {
		return nil
	}
	dir := a.login.dir
	a.login = nil
	return a.supervisor.RemoveDirectory(dir)
}

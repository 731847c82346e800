package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/internal/loopback"
	"github.com/recount-io/recount/sim/live/inspection"
)

// unsuitable is a kind of server on which nothing can be run: how it is made, and a part
// of what is said about it.
type unsuitable struct {
	url  func(t *testing.T) string
	want string
	args []string
}

// at is the URL of what listens at an address.
func at(make func(t *testing.T) string) func(t *testing.T) string {
	return func(t *testing.T) string { return "redis://" + make(t) }
}

// with is a redis-server with these settings.
func with(lines ...string) func(t *testing.T) string {
	return at(func(t *testing.T) string { return startRedis(t, lines...) })
}

// as is the URL of a user of a server on which only users with rights can do anything.
func as(rights string) func(t *testing.T) string {
	return func(t *testing.T) string {
		return "redis://limited:" + secret + "@" + startRedis(t, "user limited on >"+secret+" "+rights) + "/1"
	}
}

// unsuitables are servers, each with one thing that is wrong.
func unsuitables() map[string]unsuitable {
	all := map[string]unsuitable{
		"a replica":                  {url: with("replicaof 127.0.0.1 1"), want: "is a replica, and takes no writes; give its primary, 127.0.0.1:1"},
		"a replica without primary":  {url: with("replicaof 127.0.0.1 1", "replica-serve-stale-data no"), want: "is a replica whose primary is away"},
		"a Sentinel":                 {url: at(func(t *testing.T) string { return startServer(t, "redis-sentinel", "port ") }), want: "is a Sentinel, and keeps no data"},
		"a Sentinel with a database": {url: at(func(t *testing.T) string { return startServer(t, "redis-sentinel", "port ") + "/1" }), want: "as a Sentinel has none"},
		"a node of a cluster":        {url: at(clustered), want: "is a node of a cluster"},
		"a cluster's database":       {url: at(func(t *testing.T) string { return clustered(t) + "/1" }), want: "node of a cluster, which has no database 1"},
		"a cluster that hides":       {url: at(func(t *testing.T) string { return player(t, pretender("SET", "-MOVED 1 127.0.0.1:2")) }), want: "is a node of a cluster"},
		"an old version":             {url: at(func(t *testing.T) string { return player(t, pretender("INFO", bulk("redis_version:4.0.14"))) }), want: "is of version 4.0.14"},
		"no scripts":                 {url: as("~* &* +@all -eval -evalsha"), want: "does not allow this user to execute EVAL, EVALSHA; give it the rights that this command prints: chaos acl --user limited"},
		"no writes":                  {url: as("~* &* +@all -@write"), want: "does not allow this user to execute SET"},
		"no keys of the prefix":      {url: as("~theirs:* &* +@all"), want: "does not allow this user keys that begin with recount:run-"},
		"another prefix":             {url: as("~recount:run-* &* +@all"), args: []string{"--prefix", "x:"}, want: "chaos acl --prefix x: --user limited"},
		"no channels":                {url: as("~* resetchannels &theirs:* +@all"), want: "does not allow this user channels that begin with recount:run-"},
		"no subscriptions":           {url: as("~* &* +@all -subscribe"), want: "to execute SUBSCRIBE;"},
		"no INFO":                    {url: as("~* &* +@all -info"), want: "to execute INFO;"},
		"no databases":               {url: as("~* &* +@all -select"), want: "to execute SELECT (NOPERM)"},
		"renamed commands":           {url: with(`rename-command EVAL ""`), want: "does not have every command that a run needs (err unknown command 'eval')"},
		"scripts of many keys":       {url: at(picky), want: "cannot run the elector's scripts"},
		"full memory":                {url: with("maxmemory 100kb"), want: "has 0 KiB of memory left below maxmemory"},
		"little memory to evict":     {url: with("maxmemory 8mb", "maxmemory-policy allkeys-lru"), want: "it would evict somebody's keys (maxmemory-policy allkeys-lru)"},
		"no room for connections":    {url: with("maxclients 12"), want: "and the run opens up to 22; lower --parallel or --nodes"},
		"no room at all":             {url: at(crowded), want: "has no room for another connection"},
		"a disk that fails":          {url: at(unsaved), want: "takes no writes, because it cannot save its data (MISCONF)"},
		"too few replicas":           {url: with("min-replicas-to-write 1"), want: "too few replicas are connected (NOREPLICAS)"},
		"a script that does not end": {url: at(busy), want: "is busy with a script that does not end"},
		"still loading": {url: at(func(t *testing.T) string {
			return player(t, map[string]string{"": "-LOADING Redis is loading the dataset in memory"})
		}), want: "is still loading its data"},
		"protected mode": {url: at(protected), want: "is in protected mode"},
	}
	for name, u := range closedServers() {
		all[name] = u
	}
	return all
}

// closedServers are those that do not even let anybody in.
func closedServers() map[string]unsuitable {
	web := func(start func(http.Handler) *httptest.Server) func(t *testing.T) string {
		return at(func(t *testing.T) string {
			server := start(http.NotFoundHandler())
			t.Cleanup(server.Close)
			return server.Listener.Addr().String()
		})
	}
	secured := func(t *testing.T) string {
		return strings.TrimPrefix(web(httptest.NewTLSServer)(t), "redis://")
	}
	return map[string]unsuitable{
		"wrong password":            {url: func(t *testing.T) string { return "redis://:" + secret + "x@" + startRedis(t, "requirepass "+secret) }, want: "WRONGPASS"},
		"wrong user":                {url: func(t *testing.T) string { return "redis://who:" + secret + "@" + startRedis(t, "requirepass "+secret) }, want: "WRONGPASS"},
		"no password":               {url: with("requirepass " + secret), want: "wants a password"},
		"no such database":          {url: at(func(t *testing.T) string { return startRedis(t, "databases 4") + "/4" }), want: "has no database 4"},
		"TLS on the server's side":  {url: func(t *testing.T) string { _, addr := startLockedRedis(t); return "redis://" + addr }, want: "speaks TLS; use rediss://"},
		"TLS on our side":           {url: func(t *testing.T) string { return "rediss://" + startRedis(t) }, want: "does not speak TLS"},
		"an unknown authority":      {url: func(t *testing.T) string { _, addr := startLockedRedis(t); return "rediss://" + addr }, want: "set SSL_CERT_FILE"},
		"HTTP":                      {url: web(httptest.NewServer), want: "speaks HTTP, and is not a Redis"},
		"HTTPS":                     {url: web(httptest.NewTLSServer), want: "speaks HTTP, and is not a Redis"},
		"HTTPS asked with TLS":      {url: func(t *testing.T) string { return "rediss://" + secured(t) + "?skip_verify=true" }, want: "speaks HTTP, and is not a Redis"},
		"another protocol":          {url: at(func(t *testing.T) string { return player(t, map[string]string{"": "220 mail.example ESMTP"}) }), want: "is not a Redis"},
		"nothing":                   {url: at(freeAddress), want: "connection refused"},
		"an unknown host":           {url: at(func(*testing.T) string { return "recount.invalid:6379" }), want: "no such host"},
		"one that does not answer":  {url: at(silent), want: "accepts connections but does not answer"},
		"a URL that cannot be read": {url: func(*testing.T) string { return "redis://:" + secret + "/@host/0" }, want: "special characters of the password percent-encoded"},
	}
}

// Whatever is wrong with a server that a URL names, a run says so in one line, with what to
// do, ends with 64, and has left nothing: no folder, no key.
func TestUnsuitableServers(t *testing.T) {
	withoutRace(t)
	t.Parallel()
	for name, u := range unsuitables() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, out := u.url(t), filepath.Join(t.TempDir(), "out")
			args := append([]string{"run", "steady", "--nodes", "3", "--redis", url, "--out", out}, u.args...)
			refused(t, chaos(t, t.Context(), nil, args...), u.want)
			if _, err := os.Stat(out); !os.IsNotExist(err) {
				t.Errorf("the folder for reports: %v", err)
			}
		})
	}
}

// refused checks that a call was refused in one line with that part.
func refused(t *testing.T, r result, want string) {
	t.Helper()
	line := strings.TrimSuffix(r.errors, "\n")
	if r.status != statusUsage || !strings.Contains(line, want) || strings.Contains(line, "\n") || r.out != "" {
		t.Errorf("status %d, it says\n%s%s\nwant one line with %q", r.status, r.out, r.errors, want)
	}
}

// Wherever a URL is taken, the server is looked at first.
func TestUnsuitableServersEverywhere(t *testing.T) {
	t.Parallel()
	env := map[string]string{"RECOUNT_REDIS": with("replicaof 127.0.0.1 1")(t)}
	out := filepath.Join(t.TempDir(), "out")
	for _, args := range [][]string{
		{"run", "steady", "--out", out},
		{"calibrate", "steady", "--out", out},
		{"trial", "titan", "--scenario", "steady", "--out", out},
		{"clean"}, {"clean", "--scan", "--yes"},
	} {
		refused(t, chaos(t, t.Context(), env, args...), "is a replica")
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("the folder for reports: %v", err)
	}
}

// A look at a server leaves no key, and sends nothing that hurts.
func TestInspectionLeavesNothing(t *testing.T) {
	t.Parallel()
	address := startRedis(t, "maxclients 12")
	admin := client(t, address)
	do(t, admin, "SET theirs untouched")
	do(t, admin, "CONFIG RESETSTAT")
	refused(t, chaos(t, t.Context(), nil, "run", "steady", "--redis", "redis://"+address, "--out", t.TempDir()), "maxclients")
	do(t, admin, "CONFIG SET maxclients 1000")
	if _, err := inspection.Inspect(t.Context(), &redis.Options{Addr: address}, inspection.Need{Prefix: inspection.DefaultPrefix}); err != nil {
		t.Fatal(err)
	}
	if n := do(t, admin, "DBSIZE"); n != int64(1) {
		t.Errorf("%v keys are there, and 1 was", n)
	}
	stats := fmt.Sprint(do(t, admin, "INFO commandstats"))
	for _, dangerous := range []string{"keys", "scan", "flushall", "flushdb", "debug", "shutdown", "monitor", "config|set:calls=2", "script|flush", "client|kill"} {
		if strings.Contains(stats, "cmdstat_"+dangerous) {
			t.Errorf("%s was sent:\n%s", dangerous, stats)
		}
	}
	if !strings.Contains(stats, "cmdstat_evalsha:calls=1") {
		t.Errorf("the rights were tried once, it should be:\n%s", stats)
	}
}

// pretender answers as a Redis does that would do, but for one command.
func pretender(command, answer string) map[string]string {
	all := map[string]string{"": "+OK", "PING": "+PONG", "HELLO": "-ERR unknown command 'HELLO'", "INFO": bulk("role:master")}
	all[command] = answer
	return all
}

// bulk is an answer that is a text.
func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s", len(text), text) }

// clustered is a node of a cluster that has no slots yet.
func clustered(t *testing.T) string {
	_, bus, _ := net.SplitHostPort(freeAddress(t))
	return startRedis(t, "cluster-enabled yes", "cluster-port "+bus)
}

// picky is a server behind a proxy that forwards no script of several keys.
func picky(t *testing.T) string {
	server := startRedis(t)
	addr, err := loopback.Serve(t.Context(), func(conn net.Conn) {
		defer func() { _ = conn.Close() }()
		behind, err := net.Dial("tcp", server)
		if err != nil {
			return
		}
		defer func() { _ = behind.Close() }()
		answers := bufio.NewReader(behind)
		for in := bufio.NewReader(conn); ; {
			args, err := loopback.ReadCommand(in)
			if err != nil {
				return
			}
			if strings.HasPrefix(strings.ToUpper(args[0]), "EVAL") && args[2] != "1" {
				_, err = io.WriteString(conn, "-ERR this proxy forwards scripts of one key only\r\n")
			} else if err = loopback.WriteCommand(behind, args); err == nil {
				err = passReply(conn, answers)
			}
			if err != nil {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

// passReply passes one reply on.
func passReply(to io.Writer, from *bufio.Reader) error {
	line, err := from.ReadString('\n')
	if err != nil {
		return err
	}
	if _, err := io.WriteString(to, line); err != nil {
		return err
	}
	n, _ := strconv.Atoi(strings.TrimSpace(line[1:])) // for the other kinds it does not matter
	switch line[0] {
	case '$', '=', '!':
		if n >= 0 {
			_, err = io.CopyN(to, from, int64(n)+2)
		}
	case '%': // pairs
		n *= 2
		fallthrough
	case '*', '>', '~':
		for range n {
			err = errors.Join(err, passReply(to, from))
		}
	}
	return err
}

// crowded is a server of which others have every connection.
func crowded(t *testing.T) string {
	address := startRedis(t, "maxclients 1")
	for {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		buffer := make([]byte, 64)
		fmt.Fprint(conn, "PING\r\n")
		if n, err := conn.Read(buffer); err == nil && strings.HasPrefix(string(buffer[:n]), "+PONG") {
			return address // before, the look whether it listens had the place
		}
	}
}

// unsaved is a server whose disk is gone.
func unsaved(t *testing.T) string {
	dir := t.TempDir()
	address := startRedis(t, "save 3600 1", "dir "+dir)
	admin := client(t, address)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for t.Context().Err() == nil {
		_ = admin.BgSave(t.Context()).Err() // it fails, or another one is under way
		if strings.Contains(fmt.Sprint(do(t, admin, "INFO persistence")), "rdb_last_bgsave_status:err") {
			return address
		}
		<-time.After(10 * time.Millisecond)
	}
	t.Fatal("the server saves its data somewhere")
	return ""
}

// busy is a server that executes a script that does not end.
func busy(t *testing.T) string {
	address := startRedis(t, "busy-reply-threshold 20")
	endless := client(t, address)
	go func() { _ = endless.Eval(t.Context(), "while true do end", nil).Err() }() // until the server is killed
	watcher := client(t, address)
	for t.Context().Err() == nil {
		if err := watcher.Ping(t.Context()).Err(); err != nil && strings.HasPrefix(err.Error(), "BUSY") {
			break
		}
		<-time.After(10 * time.Millisecond)
	}
	return address
}

// silent is a server that accepts connections and says nothing.
func silent(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// protected is a server without a password, at an address of this machine that is not
// its loopback's.
func protected(t *testing.T) string {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if ip, is := a.(*net.IPNet); is && ip.IP.To4() != nil && !ip.IP.IsLoopback() {
			_, port, _ := net.SplitHostPort(startRedis(t, "bind * -::*", "protected-mode yes"))
			return net.JoinHostPort(ip.IP.String(), port)
		}
	}
	t.Skip("this machine has no address but its loopback's")
	return ""
}

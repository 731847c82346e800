package inspection

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/sim/live/redisserver"
)

// RunMark follows the prefix in the name of every key and channel of a run. Elections
// of others may have the same prefix, as the elector's default is that of the harness.
const RunMark = "run-"

// Register is the key of the register of the runs with that prefix: a hash with a field
// for each run.
func Register(prefix string) string { return prefix + RunMark + "register" }

// Need is what somebody wants of a server.
type Need struct {
	Prefix      string // of every key and channel
	Connections int    // how many the runs open at once, besides that of the inspection
	Own         bool   // faults will hit the server itself: see Marker
	Clean       bool   // keys of runs are listed and removed, and nothing else
	Scripts     bool   // the elector's scripts are run: the subject is not a program of somebody else's

	_ struct{}
}

// Server is what was learnt of a server that will do.
type Server struct {
	Version string   // "" if it does not tell
	Notes   []string // what a person should know, a sentence each
}

// Inspect returns what a server is like, or an *redisserver.Error that says in one line
// why it will not do, and what to do about it. The options are those of a client that
// the server lets in.
//
// It sends INFO, and then each command that a run needs, once, in one pipeline, on one key of a
// random name, which lives for ten seconds at the most and is gone at the end. Then it
// has the elector's store run its scripts, on keys that are gone at the end, too, and else live for a minute at the most. ACL
// DRYRUN would ask without trying, but wants a right that no user with least rights
// has, and does not know of full disks, replicas and clusters.
func Inspect(ctx context.Context, o *redis.Options, need Need) (*Server, error) {
	o.PoolSize = 1
	i := &visit{addr: o.Addr, user: o.Username, db: o.DB, need: need, client: redis.NewClient(o)}
	defer func() { _ = i.client.Close() }() // nothing is under way
	text, err := i.client.Info(ctx).Result()
	if why := i.refusal(err); why != nil {
		return nil, why
	}
	if err != nil && !isReply(err) {
		return nil, i.lost(err)
	}
	said := parse(text)
	if why := i.judge(said); why != nil {
		return nil, why
	}
	if err := i.tryRights(ctx); err != nil {
		return nil, err
	}
	if need.Scripts {
		if err := i.tryScripts(ctx); err != nil {
			return nil, err
		}
	}
	if need.Own {
		if err := i.marked(ctx, said["run_id"]); err != nil {
			return nil, err
		}
	}
	return &Server{Version: said["redis_version"], Notes: said.notes()}, nil
}

// visit is one inspection.
type visit struct {
	addr, user string
	db         int
	need       Need
	client     *redis.Client
}

// unsuitable is why the server will not do, and what to do.
func (i *visit) unsuitable(format string, args ...any) error {
	return &redisserver.Error{Kind: redisserver.Unsuitable, Text: "redis at " + i.addr + " " + fmt.Sprintf(format, args...)}
}

// lost is the error of a server that let us in and then did not answer.
func (i *visit) lost(err error) error {
	return &redisserver.Error{Kind: redisserver.Unreachable, Text: "redis at " + i.addr + " lets this user in, but does not answer any more; look what it is busy with", Err: err}
}

// Marker is the key by which a server's owner allows faults on the server itself. Its
// value is the server's own name: one that was copied, or restarted, is not marked.
func Marker(prefix string) string { return prefix + "own-this-redis" }

// marked looks for the marker.
func (i *visit) marked(ctx context.Context, name string) error {
	key := Marker(i.need.Prefix)
	value, err := i.client.Get(ctx, key).Result()
	if err != nil && !isReply(err) {
		return i.lost(err)
	}
	switch {
	case name == "":
		return i.unsuitable("does not tell its name (run_id of INFO), so it cannot be marked as yours; leave --own-this-redis out, or use --redis process")
	case value == name:
		return nil
	}
	host, port, _ := net.SplitHostPort(i.addr)
	return i.unsuitable("is not marked as yours to disturb; if nobody would miss a key of its database %d, set the mark, which holds until the server is started again: redis-cli -h %s -p %s -n %d SET %s %s",
		i.db, host, port, i.db, quoted(key), name)
}

// quoted is a word for a shell.
func quoted(word string) string {
	if strings.ContainsFunc(word, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:._-/{}", r)
	}) {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

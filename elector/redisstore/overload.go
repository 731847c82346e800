package redisstore

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// overloads are the words of servers and services that have too much to do, and what to
// do if that goes on. Such a refusal passes: the request is tried again.
var overloads = [...]struct{ text, hint string }{
	{"max number of clients", connectionsHint},
	{"max concurrent connections", connectionsHint},
	{"too many connections", connectionsHint},
	{"too many pending request", loadHint},
	{"temporary failure", loadHint},
	{"server busy", loadHint},
	{"throttl", loadHint},
	{"rate limit", loadHint},
	{"max daily request limit", quotaHint},
	{"max requests limit", quotaHint},
	{"capacity quota", quotaHint},
}

const (
	connectionsHint = "too many connections are open; this passes when some are closed: raise the server's limit (maxclients), or lower PoolSize"
	loadHint        = "the server has too much to do; this passes: give it less to do, or use a larger one, if it goes on"
	quotaHint       = "the service's quota is used up; this passes when it begins anew: raise the quota, or use another service, if that takes too long"
)

// overload is the hint for a reply that says that the server has too much to do, else "".
func overload(err error) string {
	if !isReply(err) {
		return ""
	}
	text := strings.ToLower(err.Error())
	for _, o := range overloads {
		if strings.Contains(text, o.text) {
			return o.hint
		}
	}
	return ""
}

// passingCodes are those of replies that tell of a state in which a server may be for a
// while. Any other reply may stay.
var passingCodes = [...]string{
	"READONLY ", "MOVED ", "ASK ", "CLUSTERDOWN ", "LOADING ", "TRYAGAIN ", "NOREPLICAS ",
	"BUSY ", "MISCONF ", "OOM ", "MASTERDOWN ", "UNBLOCKED ",
}

// passing reports whether the reply is known to pass.
func passing(err error) bool {
	return isReply(err) && (overload(err) != "" || slices.ContainsFunc(passingCodes[:], func(code string) bool { return hasCode(err.Error(), code) }))
}

// greeted adds to the error of a connection that ended what the server says to a new one.
// A server that takes no more connections says so and hangs up, often before the client
// reads.
func (s *Store) greeted(ctx context.Context, err error) error {
	if hint := overload(err); hint != "" {
		return fmt.Errorf("%w: %s", err, hint)
	}
	if !died(err) || s.opts.Dialer == nil || len(s.opts.Addrs) != 1 {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, failed := s.opts.Dialer(ctx, "tcp", s.opts.Addrs[0])
	if failed != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // nothing was sent
	if at, ok := ctx.Deadline(); ok {
		_ = conn.SetReadDeadline(at) // else the server's words are missing
	}
	line, _ := bufio.NewReader(conn).ReadString('\n')
	if said, ok := strings.CutPrefix(strings.TrimSpace(line), "-"); ok {
		if hint := overload(greeting(said)); hint != "" {
			return fmt.Errorf("%w: the server says %q: %s", err, said, hint)
		}
	}
	return err
}

// greeting is an answer that no command was asked for.
type greeting string

func (g greeting) Error() string { return string(g) }

// RedisError implements redis.Error.
func (greeting) RedisError() {}

var _ redis.Error = greeting("")

package redisserver

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// given is a Redis that runs already and belongs to somebody.
type given struct {
	url     *url.URL
	options *redis.Options
	version string
}

var _ Server = (*given)(nil)

func openURL(ctx context.Context, spec string, o Options) (Server, error) {
	u, options, err := parse(spec)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout(startTimeout))
	defer cancel()
	options.DialTimeout = o.timeout(startTimeout)
	g := &given{url: u, options: options}
	if err := examine(ctx, g.Options()); err != nil {
		return nil, err
	}
	g.version = "of unknown version" // INFO may be forbidden
	if fields, err := information(ctx, g.Options(), "server"); err == nil && fields["redis_version"] != "" {
		g.version = fields["redis_version"]
	}
	return g, nil
}

// parse reads a URL. No error says anything of what stood in it before the
// host: a password with a special character in it ends up anywhere.
func parse(spec string) (*url.URL, *redis.Options, error) {
	bad := func(why string) error {
		return &Error{Kind: BadSpec, Text: "the URL of Redis " + why + "; write redis://user:password@host:port/db, or rediss:// for TLS, with special characters of the password percent-encoded"}
	}
	u, err := url.Parse(spec)
	if err != nil {
		return nil, nil, bad("cannot be read")
	}
	if u.Scheme != "redis" && u.Scheme != "rediss" {
		return nil, nil, bad("is neither redis:// nor rediss://")
	}
	if u.Hostname() == "" {
		return nil, nil, bad("names no host")
	}
	if db := strings.Trim(u.Path, "/"); db != "" {
		if n, err := strconv.Atoi(db); err != nil || n < 0 {
			return nil, nil, bad("has a path that is not the number of a database")
		}
	}
	options, err := redis.ParseURL(spec)
	if err != nil {
		return nil, nil, bad("has parameters that cannot be read")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, nil, bad("has an invalid port: give a port from 1 to 65535")
		}
	}
	return u, options, nil
}

// Describe implements Server.
func (g *given) Describe() string { return "url " + g.version }

// Why implements Server.
func (g *given) Why() string { return "given by URL" }

// Addr implements Server.
func (g *given) Addr() string { return g.options.Addr }

// Private implements Server.
func (g *given) Private() bool { return false }

// Options implements Server.
func (g *given) Options() *redis.Options { return plain(*g.options) }

// CandidateURL implements Server.
func (g *given) CandidateURL(proxyAddr string) string {
	u := *g.url
	u.Host, u.Path = proxyAddr, "/"+strconv.Itoa(g.options.DB)
	query := u.Query()
	query.Del("db") // it stands in the path
	u.RawQuery = query.Encode()
	return u.String()
}

// TLSServerName implements Server.
func (g *given) TLSServerName() string {
	if g.options.TLSConfig == nil {
		return ""
	}
	return g.options.TLSConfig.ServerName
}

// Pause implements Server.
func (g *given) Pause(context.Context) error { return errShared("paused") }

// Resume implements Server.
func (g *given) Resume(context.Context) error { return errShared("resumed") }

// Crash implements Server.
func (g *given) Crash(context.Context) error { return errShared("crashed") }

// Restart implements Server.
func (g *given) Restart(context.Context, bool) error { return errShared("restarted") }

// Close implements Server. There is nothing of ours to end.
func (g *given) Close() error { return nil }

// unreachable says that nothing that is a Redis answers.
func unreachable(addr, why string, cause error) error {
	return &Error{Kind: Unreachable, Text: fmt.Sprintf("cannot reach redis at %s: %s; start it or use --redis embedded", addr, why), Err: cause}
}

// shorter is a context for one of several steps.
func shorter(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/3)
}

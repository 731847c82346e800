package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/recount-io/recount/elector"
)

// maxFailures is how many calls in a row may fail without a reply before the
// client is replaced. go-redis's pool remembers a failed dial and gives its
// error to everybody for up to a second after the server has come back, and a
// pool whose connections all hang serves nobody until they time out.
const maxFailures = 3

// closePatience is how long Close waits for clients that were replaced.
const closePatience = time.Second

// client is a Redis client and how it fares.
type client struct {
	redis.UniversalClient
	failures atomic.Int32 // calls without a reply, in a row
}

// clientOptions is o, as an elector needs it.
func clientOptions(o redis.UniversalOptions) redis.UniversalOptions {
	o.Addrs = append([]string(nil), o.Addrs...)
	o.MaxRetries = -1
	o.DialerRetries = 1
	o.ContextTimeoutEnabled = true
	o.ReadOnly, o.RouteByLatency, o.RouteRandomly = false, false, false
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	o.PipelinePoolSize = -1
	setDefault(&o.Protocol, 2)
	setDefault(&o.PoolSize, 4)
	setDefault(&o.DialTimeout, 2*time.Second)
	setDefault(&o.ReadTimeout, 3*time.Second)
	setDefault(&o.WriteTimeout, 3*time.Second)
	setDefault(&o.PoolTimeout, time.Second)
	setDefault(&o.ConnMaxIdleTime, 5*time.Minute)
	setDefault(&o.ReadBufferSize, 4096)
	setDefault(&o.WriteBufferSize, 4096)
	if o.Dialer == nil {
		o.Dialer = dialer(o.DialTimeout, o.TLSConfig)
	}
	o.Dialer = watched(o.Dialer)
	return o
}

func setDefault[T int | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// dialFunc opens a connection, as redis.UniversalOptions.Dialer does.
type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// dialer is go-redis's own one, except that it gives up a TLS handshake when
// its context is done.
func dialer(timeout time.Duration, config *tls.Config) dialFunc {
	d := &net.Dialer{
		Timeout:         timeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 5 * time.Second, Count: 3},
	}
	if config == nil {
		return d.DialContext
	}
	return (&tls.Dialer{NetDialer: d, Config: config}).DialContext
}

// open makes a client. It does no I/O.
func (s *Store) open() *client {
	o := s.opts
	switch {
	case o.MasterName != "":
		return &client{UniversalClient: redis.NewFailoverClient(o.Failover())}
	case len(o.Addrs) > 1 || o.IsClusterMode:
		co := o.Cluster()
		co.DisableRoutingPolicies = true // else it asks for the table of all commands first
		cluster := redis.NewClusterClient(co)
		cluster.OnNewNode(func(node *redis.Client) { node.AddHook(onceHook{}) })
		return &client{UniversalClient: cluster}
	default:
		return &client{UniversalClient: redis.NewClient(o.Simple())}
	}
}

// current is the client to use now.
func (s *Store) current() (*client, error) {
	if c := s.live.Load(); c != nil {
		return c, nil
	}
	return nil, &elector.FatalError{Err: errors.New("redisstore: the store is closed"), Fix: "close it after the last elector has ended"}
}

// account notes how a call fared, and replaces the client if too many in a row
// had no reply.
func (s *Store) account(ctx context.Context, c *client, err error) {
	switch {
	case err == nil || isReply(err):
		c.failures.Store(0)
	case errors.Is(ctx.Err(), context.Canceled):
		return // the caller's wish says nothing about the connection
	case c.failures.Add(1) >= maxFailures:
		s.replace(c)
		return
	}
	if cluster, ok := c.UniversalClient.(*redis.ClusterClient); ok && err != nil {
		cluster.ReloadState(ctx) // in the background: another node may be the master by now
	}
}

// replace puts a fresh client in c's place. Calls and watches that still use c
// end with an error.
func (s *Store) replace(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live.Load() != c {
		return // closed, or replaced already
	}
	s.live.Store(s.open())
	s.retired.Go(func() { _ = c.Close() }) // nobody uses it any more
}

// Close closes the connections. Calls and watches under way end with an error;
// later ones get a *elector.FatalError.
func (s *Store) Close() error {
	s.mu.Lock()
	c := s.live.Swap(nil)
	s.mu.Unlock()
	if c == nil {
		return nil
	}
	err := c.Close()
	done := make(chan struct{})
	go func() {
		s.retired.Wait()
		close(done)
	}()
	patience := time.NewTimer(closePatience)
	defer patience.Stop()
	select {
	case <-done:
	case <-patience.C: // a connection that will not say goodbye is left to its own time-outs
	}
	return err
}

// onceHook keeps the cluster client from repeating scripts. It follows
// redirections, which execute nothing where they are given; but it would also
// repeat a command after a broken connection, whatever its MaxRetries. It
// knows which by looking at the error, so the hook hides it. The commands that
// open a connection pass through the same hook, and keep their errors.
type onceHook struct{}

// hidden is an error that go-redis does not recognise.
type hidden struct{ err error }

func (h hidden) Error() string { return "redisstore: " + h.err.Error() }

// hide replaces the error of a script, unless it redirects.
func hide(cmd redis.Cmder, err error) error {
	if err == nil || (cmd.Name() != "evalsha" && cmd.Name() != "eval") ||
		redis.HasErrorPrefix(err, "MOVED ") || redis.HasErrorPrefix(err, "ASK ") {
		return err
	}
	err = hidden{err}
	cmd.SetErr(err)
	return err
}

// plain undoes hide.
func plain(err error) error {
	var h hidden
	if errors.As(err, &h) {
		return h.err
	}
	return err
}

func (onceHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (onceHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return hide(cmd, next(ctx, cmd))
	}
}

// ProcessPipelineHook sees the script that follows an ASK: it is sent behind
// the command ASKING.
func (onceHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if err != nil && len(cmds) > 0 {
			err = hide(cmds[len(cmds)-1], err)
		}
		return err
	}
}

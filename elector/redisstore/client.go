package redisstore

import (
	"context"
	"errors"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/recount-io/recount/elector/store"
)

// maxFailures is how many calls in a row may fail without a reply before the
// client is replaced. go-redis's pool remembers a failed dial and gives its
// error to everybody for up to a second after the server has come back, and a
// pool whose connections all hang serves nobody until they time out.
const maxFailures = 3

// instant is what an older go-redis waits for after a dial that failed, even
// after the last one. 0 would be a tenth of a second.
const instant = time.Nanosecond

// closePatience is how long Close waits for clients that were replaced.
const closePatience = time.Second

// client is a Redis client and how it fares.
type client struct {
	redis.UniversalClient
	ctx    context.Context // of its batches: done when it is closed
	cancel context.CancelFunc
	dead   atomic.Int64 // the age of the youngest connection that has died; those opened later are an age younger

	reviving atomic.Bool // the others are being asked

	busy [2]int       // batches under way, by queue; guarded by the batcher
	far  atomic.Int64 // how long it takes to open a connection; 0: not known yet

	// Guarded by the store.
	uses     int       // calls and senders of batches that have it
	replied  time.Time // the last reply
	failures int       // calls and batches without a reply, in a row since then
}

func newClient() *client {
	ctx, cancel := context.WithCancel(context.Background())
	return &client{ctx: ctx, cancel: cancel}
}

// Close ends what is under way.
func (c *client) Close() error {
	c.cancel()
	return c.UniversalClient.Close()
}

// clientOptions is o, as an elector needs it.
func clientOptions(o redis.UniversalOptions) redis.UniversalOptions {
	o.Addrs = append([]string(nil), o.Addrs...)
	o.MaxRetries = -1
	o.ContextTimeoutEnabled = true
	o.ReadOnly, o.RouteByLatency, o.RouteRandomly = false, false, false
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
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
	} else {
		o.Dialer = insistent(o.Dialer)
	}
	o.Dialer = watched(o.Dialer)
	o.OnConnect = connected(o.OnConnect)
	return o
}

func setDefault[T int | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// open makes a client. It does no I/O.
func (s *Store) open() *client {
	o, c := s.opts, newClient()
	o.Dialer = c.sockets(o.Dialer, func() { s.batches.lost(c, false) })
	switch {
	case o.MasterName != "":
		fo := o.Failover()
		fo.DialerRetries, fo.DialerRetryTimeout = 1, instant
		setNewer(fo)
		c.UniversalClient = redis.NewFailoverClient(fo)
	case s.clustered():
		co := o.Cluster()
		co.DialerRetries, co.DialerRetryTimeout = 1, instant
		setNewer(co)
		cluster := redis.NewClusterClient(co)
		cluster.OnNewNode(func(node *redis.Client) { node.AddHook(onceHook{}) })
		c.UniversalClient = cluster
	default:
		so := o.Simple()
		so.DialerRetries, so.DialerRetryTimeout = 1, instant
		setNewer(so)
		c.UniversalClient = redis.NewClient(so)
	}
	return c
}

// setNewer sets what only some of the versions of go-redis have with which this
// package compiles: which one runs, the program decides that links it.
func setNewer(options any) {
	o := reflect.ValueOf(options).Elem()
	if f := o.FieldByName("PipelinePoolSize"); f.IsValid() { // from 9.22 on
		f.SetInt(-1) // no second pool
	}
	if f := o.FieldByName("DisableRoutingPolicies"); f.IsValid() { // of a cluster, from 9.18 on
		f.SetBool(true) // else it asks for the table of all commands first
	}
}

// clustered reports whether the client is one of a cluster.
func (s *Store) clustered() bool {
	return s.opts.MasterName == "" && (len(s.opts.Addrs) > 1 || s.opts.IsClusterMode)
}

// current is the client to use now.
func (s *Store) current() (*client, error) {
	if c := s.live.Load(); c != nil {
		return c, nil
	}
	return nil, errClosed()
}

// use is the client to use now. It is not closed before done, except by Close.
func (s *Store) use() (*client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.current()
	if err == nil {
		c.uses++
	}
	return c, err
}

// again is one use more of a client that is used.
func (s *Store) again(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.uses++
}

// done ends a use.
func (s *Store) done(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.uses--
	if c.uses == 0 {
		s.retire(c)
	}
}

// retire closes a client if it was replaced and is not closed yet. The caller holds mu.
func (s *Store) retire(c *client) {
	if s.replaced[c] {
		delete(s.replaced, c)
		s.retired.Go(func() { _ = c.Close() }) // nobody would learn of an error
	}
}

func errClosed() error {
	return &store.FatalError{Err: errors.New("the store is closed"), Fix: "close it after the last elector has ended"}
}

// account notes how a call fared that began at some moment, and replaces the client
// if too many in a row had no reply.
func (s *Store) account(ctx context.Context, c *client, began time.Time, err error) {
	switch {
	case err == nil || isReply(err):
		s.succeed(c)
	case errors.Is(ctx.Err(), context.Canceled):
		return // the caller's wish says nothing about the connection
	case errors.Is(err, redis.ErrPoolTimeout):
		return // nor does it that others use it: nothing was sent
	case s.foreign && died(err):
		s.batches.lost(c, false)
		s.fail(c, began)
	case s.fail(c, began):
		if died(err) { // and does not hang, nor is away
			s.batches.lost(s.live.Load(), true)
		}
		s.batches.kick()
		return
	}
	if cluster, ok := c.UniversalClient.(*redis.ClusterClient); ok && err != nil {
		cluster.ReloadState(ctx) // in the background: another node may be the master by now
	}
}

// succeed notes a reply.
func (s *Store) succeed(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.replied, c.failures = time.Now(), 0
}

// fail notes a call without a reply. After too many it puts a fresh client in c's
// place, and says so. What began before a reply came says nothing about now. Calls
// that still use c go on; its watches end with an error when they are over.
func (s *Store) fail(c *client, began time.Time) (replaced bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if began.Before(c.replied) {
		return false
	}
	c.failures++
	if s.foreign {
		return false // it is not the store's to replace
	}
	if c.failures < maxFailures || s.live.Load() != c {
		return false // it may be closed, or replaced already
	}
	s.live.Store(s.open())
	s.replaced[c] = true // the caller that reports the failure uses it
	return true
}

// Close closes the connections. Calls and watches under way end with an error;
// later ones get a *elector.FatalError.
func (s *Store) Close() error {
	s.mu.Lock()
	c := s.live.Swap(nil)
	for old := range s.replaced {
		s.retire(old)
	}
	s.mu.Unlock()
	if c == nil {
		return nil
	}
	s.batches.close()
	var err error
	if s.foreign {
		c.cancel()
		s.hub.end(errClosed())
	} else {
		err = c.Close()
	}
	done := make(chan struct{})
	go func() {
		s.retired.Wait()
		s.batches.senders.Wait()
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

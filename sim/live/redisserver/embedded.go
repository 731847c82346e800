package redisserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/recount-io/recount/internal/loopback"
)

// loading is what Redis says until it has read its data.
const loading = "LOADING Redis is loading the dataset in memory"

// embedded is miniredis inside this process. Its times to live follow the
// clock, as a server's do.
type embedded struct {
	private
	lifecycle
	redis    *miniredis.Miniredis
	listener *server.Server
}

var _ Server = (*embedded)(nil)

func openEmbedded(ctx context.Context, why string) (Server, error) {
	e := &embedded{private: private{why: why}, lifecycle: lifecycle{state: running}, redis: miniredis.NewMiniRedis()}
	e.redis.ClockTTL(true)
	var err error
	for range 20 {
		var port int
		if port, err = loopback.FreePort(); err != nil {
			return nil, err
		}
		e.addr = fmt.Sprintf("127.0.0.1:%d", port)
		if err = e.redis.StartAddr(e.addr); err == nil {
			e.listener = e.redis.Server()
			if err = await(ctx, e.addr, nil); err != nil {
				return nil, errors.Join(err, e.Close())
			}
			return e, nil
		}
	}
	return nil, fmt.Errorf("redisserver: the embedded Redis cannot listen on a loopback port: %w", err)
}

// Describe implements Server.
func (e *embedded) Describe() string {
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, module := range build.Deps {
			if module.Path == "github.com/alicebob/miniredis/v2" {
				return "embedded miniredis " + strings.TrimPrefix(module.Version, "v")
			}
		}
	}
	return "embedded miniredis"
}

// Pause implements Server. Every command of miniredis runs under one lock, a
// script for its whole length; who holds the lock stands everything still,
// between two commands, never within one. Expiry is computed from the clock
// when the next command runs, so the pause counts.
func (e *embedded) Pause(context.Context) error {
	return e.change(paused, func(state) error {
		e.redis.Lock()
		return nil
	}, running)
}

// Resume implements Server.
func (e *embedded) Resume(context.Context) error {
	return e.change(running, func(state) error {
		e.redis.Unlock()
		return nil
	}, paused)
}

// Crash implements Server. In one thing it differs from a real crash: a command
// that waited in a paused server may be executed as the server goes down,
// though nobody hears of it.
func (e *embedded) Crash(ctx context.Context) error {
	return e.change(crashed, func(was state) error {
		e.stop(was)
		return awaitRefused(ctx, e.addr)
	}, running, paused)
}

// stop closes the port and all connections first, so that no reply of a command that
// runs after the lock is free again gets out. It closes miniredis when no command is
// under way any more: INFO would panic there.
func (e *embedded) stop(was state) {
	down := make(chan struct{})
	go func() {
		e.listener.Close()
		close(down)
	}()
	if was == paused {
		for e.listener.Addr() != nil {
			time.Sleep(100 * time.Microsecond)
		}
		e.redis.Unlock()
	}
	<-down
	e.redis.Close()
}

// Restart implements Server. Until the cached scripts are gone it answers that
// it is loading, as a server does.
func (e *embedded) Restart(ctx context.Context, keepData bool) error {
	return e.change(running, func(state) error {
		if !keepData {
			e.redis.FlushAll()
		}
		e.redis.Ctx, e.redis.CtxCancel = context.WithCancel(context.Background()) // Close has ended the old one, which blocking commands heed
		e.redis.SetError(loading)
		for {
			err := e.redis.StartAddr(e.addr)
			if err == nil {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("redisserver: the embedded Redis cannot listen at %s again: %w", e.addr, err)
			case <-time.After(time.Millisecond):
			}
		}
		e.listener = e.redis.Server()
		if err := e.forgetScripts(); err != nil {
			return err
		}
		return await(ctx, e.addr, nil)
	}, crashed)
}

func (e *embedded) forgetScripts() error {
	e.listener.SetPreHook(func(c *server.Peer, command string, _ ...string) bool {
		if command == "SCRIPT" {
			return false
		}
		c.WriteError(loading)
		return true
	})
	defer e.listener.SetPreHook(nil)
	conn, err := e.redis.Dial()
	if err != nil {
		return fmt.Errorf("redisserver: %w", err)
	}
	defer func() { _ = conn.Close() }() // it served its purpose
	if _, err := conn.Write([]byte("*2\r\n$6\r\nSCRIPT\r\n$5\r\nFLUSH\r\n")); err != nil {
		return fmt.Errorf("redisserver: %w", err)
	}
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || line != "+OK\r\n" {
		return fmt.Errorf("redisserver: the embedded Redis keeps its scripts: %q, %w", line, err)
	}
	return nil
}

// Close implements Server.
func (e *embedded) Close() error {
	return e.close(func(was state) error {
		if was != crashed {
			e.stop(was)
		}
		return nil
	})
}

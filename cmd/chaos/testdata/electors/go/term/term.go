// Package term is what the electors of this folder share: the environment that
// the harness gives them, the lines that they print, and a leader's life.
package term

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// Settings are what the harness tells.
type Settings struct {
	Election, Node      string
	Lease, Renew, Retry time.Duration
	pace                time.Duration
	resource            string
}

// Elector asks the store, once for each call. Took and kept report whether the lock
// is the candidate's afterwards; with an error nobody knows.
type Elector interface {
	Take(context.Context) (took bool, err error)
	Keep(context.Context) (kept bool, err error)
	Give(context.Context)
}

// Environment reads the settings.
func Environment() Settings {
	ms := func(name string) time.Duration {
		n, err := strconv.ParseFloat(os.Getenv(name), 64)
		if err != nil {
			panic(name + " is no number")
		}
		return time.Duration(n * float64(time.Millisecond))
	}
	return Settings{
		Election: os.Getenv("RECOUNT_ELECTION"), Node: os.Getenv("RECOUNT_NODE"), resource: os.Getenv("RECOUNT_RESOURCE_URL"),
		Lease: ms("RECOUNT_LEASE_MS"), Renew: ms("RECOUNT_RENEW_MS"), Retry: ms("RECOUNT_RETRY_MS"), pace: ms("RECOUNT_WRITE_MS"),
	}
}

// Client is a client of the candidate's store that asks once and not again.
func (s Settings) Client() *redis.Client {
	options, err := redis.ParseURL(os.Getenv("RECOUNT_REDIS_URL"))
	if err != nil {
		panic(err)
	}
	patience := s.Renew / 2
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout, options.MaxRetries = patience, patience, patience, -1
	return redis.NewClient(options)
}

// leader is a candidate, leading or not.
type leader struct {
	Settings
	leads      bool
	until, due time.Time
	writes     int
}

// Live competes and leads until SIGTERM.
func (s Settings) Live(e Elector) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	l := &leader{Settings: s}
	for ctx.Err() == nil {
		l.next(e)
	}
	if l.leads {
		l.over("stopped")
		e.Give(context.Background())
	}
}

func (l *leader) next(e Elector) {
	sent := time.Now()
	until := sent.Add(l.Lease - l.Lease/100 - 2*time.Millisecond)
	switch {
	case !l.leads:
		if took, err := e.Take(context.Background()); err == nil && took && time.Now().Before(until) {
			l.leads, l.until, l.due = true, until, sent.Add(l.Renew)
			l.believes("elected")
			return
		}
		time.Sleep(l.Retry)
	case !sent.Before(l.until):
		l.over("expired")
	case !sent.Before(l.due):
		kept, err := e.Keep(context.Background())
		switch {
		case err != nil:
			l.due = time.Now().Add(l.Retry)
		case !kept:
			l.over("superseded")
		case time.Now().Before(l.until):
			l.until, l.due = until, sent.Add(l.Renew)
			l.believes("extended")
		}
	default:
		l.writes++
		l.write()
		time.Sleep(l.pace)
	}
}

func (l *leader) believes(event string) {
	fmt.Printf("{\"event\":%q,\"until_ms\":%f}\n", event, float64(time.Until(l.until))/float64(time.Millisecond))
}

func (l *leader) over(why string) {
	l.leads = false
	fmt.Printf("{\"event\":\"deposed\",\"why\":%q}\n", why)
}

func (l *leader) write() {
	body, err := json.Marshal(map[string]string{"node": l.Node, "election": l.Election, "value": fmt.Sprint(l.Node, "/", l.writes)})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.Renew)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.resource+"/write", bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	if response, err := http.DefaultClient.Do(request); err == nil {
		_ = response.Body.Close()
	}
}

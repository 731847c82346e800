// The command plain is a candidate to copy: one file that leads on Redis as
// safely as one Redis allows, with nothing but a client.
//
//	chaos run pause-leader partition-leader --exec bin/plain
//
// What it minds, and why:
//   - the lease's value is new for each term, and is compared in the same script
//     that renews or deletes: a term that is over cannot touch its successor's lease
//   - the token is drawn in the script that grants the lease, and goes with every
//     write: the resource can refuse a leader that was
//   - the deadline counts from before the request was sent: nobody knows when in
//     between the store began to count
//   - it stops by its own clock, and never by an answer that may not come
//   - the client must not repeat requests by itself, which would take unknown time
//
// Go's clock stands still while the machine is suspended. Where that happens,
// read CLOCK_BOOTTIME in its place, as safe.py does.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// Each answers the token, release 1, or 0 if somebody else leads.
var (
	acquire = redis.NewScript(`
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
return redis.call('INCR', KEYS[2])`)
	renew = redis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return tonumber(redis.call('GET', KEYS[2]))`)
	release = redis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`)
)

type candidate struct {
	election, node, resource     string
	lease, renew, retry, writing time.Duration
	store                        *redis.Client
}

func main() {
	c := candidate{
		election: os.Getenv("RECOUNT_ELECTION"), node: os.Getenv("RECOUNT_NODE"), resource: os.Getenv("RECOUNT_RESOURCE_URL"),
		lease: duration("LEASE"), renew: duration("RENEW"), retry: duration("RETRY"), writing: duration("WRITE"),
	}
	options, err := redis.ParseURL(os.Getenv("RECOUNT_REDIS_URL"))
	if err != nil {
		log.Fatal(err)
	}
	options.MaxRetries = -1 // none
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = c.renew/2, c.renew/2, c.renew/2
	c.store = redis.NewClient(options)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	for ctx.Err() == nil {
		value := c.node + "/" + rand.Text()
		token, deadline, err := c.ask(acquire, value)
		if err == nil && token > 0 && time.Now().Before(deadline) {
			c.lead(ctx, value, token, deadline)
			continue
		}
		if err != nil || token > 0 {
			_, _, _ = c.ask(release, value) // it may have been granted, and nobody would know
		}
		time.Sleep(c.retry)
	}
}

func duration(name string) time.Duration {
	ms, err := strconv.ParseFloat(os.Getenv("RECOUNT_"+name+"_MS"), 64)
	if err != nil {
		log.Fatal(err)
	}
	return time.Duration(ms * float64(time.Millisecond))
}

// ask runs a script. It returns its answer, and the deadline if it took effect;
// after an error nobody knows whether it did.
func (c *candidate) ask(script *redis.Script, value string) (token int64, deadline time.Time, err error) {
	deadline = time.Now().Add(c.lease*99/100 - time.Millisecond)
	keys := []string{c.election + ":lock", c.election + ":token"}
	token, err = script.Run(context.Background(), c.store, keys, value, c.lease.Milliseconds()).Int64()
	if err != nil {
		log.Print(err)
	}
	return token, deadline, err
}

// lead works and renews until the term is over.
func (c *candidate) lead(ctx context.Context, value string, token int64, deadline time.Time) {
	say("elected", token, deadline, "")
	renewAt := time.Now().Add(c.renew)
	for writes := 1; ; writes++ {
		switch now := time.Now(); {
		case ctx.Err() != nil:
			say("deposed", token, now, "resigned") // first, for the next one may lead at once
			_, _, _ = c.ask(release, value)        // without it the lease ends by itself
			return
		case !now.Before(deadline):
			say("deposed", token, now, "expired")
			return
		case now.Before(renewAt):
			if !c.work(ctx, token, deadline, writes) {
				say("deposed", token, now, "superseded")
				return
			}
			continue
		}
		got, extended, err := c.ask(renew, value)
		switch now := time.Now(); {
		case err == nil && got == 0:
			say("deposed", token, now, "superseded")
			return
		case err == nil && now.Before(deadline): // an answer after the deadline extends nothing
			deadline, renewAt = extended, now.Add(c.renew)
			say("extended", token, deadline, "")
		default:
			renewAt = now.Add(c.retry)
		}
	}
}

// work writes to what only the leader may write to, and gives up before the
// term ends. It reports false if somebody else leads since.
func (c *candidate) work(ctx context.Context, token int64, deadline time.Time, n int) bool {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	body, _ := json.Marshal(map[string]any{ // of these types everything marshals
		"node": c.node, "election": c.election, "token": token, "value": fmt.Sprintf("%s/%d/%d", c.node, token, n),
	})
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.resource+"/write", bytes.NewReader(body))
	if err != nil {
		panic(err) // the resource's URL is none
	}
	reply, err := http.DefaultClient.Do(request)
	if err == nil {
		_ = reply.Body.Close()
		if reply.StatusCode == http.StatusConflict {
			return false
		}
	}
	select {
	case <-ctx.Done():
	case <-time.After(c.writing):
	}
	return true
}

// say tells the harness what just happened.
func say(event string, token int64, until time.Time, why string) {
	line := map[string]any{"event": event, "token": token}
	if why == "" {
		line["until_ms"] = float64(time.Until(until)) / float64(time.Millisecond)
	} else {
		line["why"] = why
	}
	text, _ := json.Marshal(line) // of these types everything marshals
	fmt.Println(string(text))
}

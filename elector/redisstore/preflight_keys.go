package redisstore

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/store"
)

// How much the look at the keys may cost a server that has many others.
const (
	scanSteps = 200
	scanStep  = 1000
	keysRead  = 1000
	keysNamed = 5
)

var (
	counterForm = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)
	leaseForm   = regexp.MustCompile(`(?s)^r1 [0-9]+ [^ ]+ .*$`)
)

// keyCheck collects the keys that are not as an elector writes them.
type keyCheck struct {
	leases, counters, types []string
	read                    int
	partly                  bool  // there are more
	hidden                  error // they could not be looked for
}

// keys looks for elections that something else has written, or an elector of
// another format.
func (v *survey) keys(ctx context.Context) {
	var c keyCheck
	for _, n := range v.nodes {
		c.node(ctx, n.client, v.store.prefix)
	}
	prefix := v.store.prefix
	if c.hidden != nil {
		fix := "make this check again when the server answers"
		if denied(c.hidden) {
			fix = "allow the user of this check +scan, or let an operator make it"
		}
		v.add(store.SeverityNote, "keys", "the keys that begin with "+prefix+" could not be looked at: "+unwrapped(c.hidden), fix)
	}
	if c.partly {
		v.add(store.SeverityNote, "keys", "the server has many keys, of which some only were looked at for elections in another format",
			"give the elections a database or a server of their own")
	}
	if len(c.leases) > 0 {
		v.add(store.SeverityWarning, "lease", named(c.leases)+": not written by this version of the elector. The program that wrote it holds the election, until the key is gone, without knowing of tokens",
			"end the program that writes it, or choose another Options.Prefix; then DEL the key")
	}
	if len(c.counters) > 0 {
		v.add(store.SeverityError, "counter", named(c.counters)+": no decimal number, so nobody is granted a lease in this election",
			"DEL the key, or SET it to the highest token that the protected resource has seen")
	}
	if len(c.types) > 0 {
		v.add(store.SeverityError, "type", named(c.types)+": of a type that the elector does not write there, so every call fails in this election",
			"DEL the key, or choose another Options.Prefix: something else keeps its data under the election's keys")
	}
}

func named(keys []string) string {
	if more := len(keys) - keysNamed; more > 0 {
		return fmt.Sprintf("%.300q and %d more", keys[:keysNamed], more)
	}
	return fmt.Sprintf("%.300q", keys)
}

// node looks through one server's keys, a step at a time.
func (c *keyCheck) node(ctx context.Context, r *redis.Client, prefix string) {
	cursor := uint64(0)
	for range scanSteps {
		found, next, err := r.Scan(ctx, cursor, literal(prefix)+"{*}:*", scanStep).Result()
		if err != nil {
			c.hidden = plain(err)
			return
		}
		for _, key := range found {
			if c.read >= keysRead {
				c.partly = true
				return
			}
			c.key(ctx, r, key)
		}
		if next == 0 {
			return
		}
		cursor = next
	}
	c.partly = true
}

// key reads one key. What has another type than it should says so itself.
func (c *keyCheck) key(ctx context.Context, r *redis.Client, key string) {
	c.read++
	var err error
	switch key[strings.LastIndexByte(key, ':')+1:] {
	case "lease":
		var value string
		if value, err = r.Get(ctx, key).Result(); err == nil && !leaseForm.MatchString(value) {
			c.leases = append(c.leases, key)
		}
	case "token":
		var value string
		if value, err = r.Get(ctx, key).Result(); err == nil && !counterForm.MatchString(value) {
			c.counters = append(c.counters, key)
		}
	case "guard":
		err = r.HMGet(ctx, key, "history").Err()
	}
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		c.types = append(c.types, key)
	}
}

// literal is a pattern of SCAN that matches the text only.
func literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}

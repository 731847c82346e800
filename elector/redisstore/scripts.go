package redisstore

import (
	"context"
	"crypto/sha1" //nolint:gosec // Redis names scripts by their SHA-1
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	texts "github.com/recount-io/recount/elector/redisstore/scripts"
)

// script is a Lua script and the name by which a server knows it.
type script struct {
	text string
	sha  any // a string
}

// order is a use of the script with these keys and arguments.
func (sc *script) order(keys []string, args []any) order {
	words := make([]any, 0, 3+len(keys)+len(args))
	words = append(words, "evalsha", sc.sha, len(keys))
	for _, key := range keys {
		words = append(words, key)
	}
	return order{script: sc, words: append(words, args...)}
}

func newScript(text string) script {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // see the import
	return script{text: text, sha: hex.EncodeToString(sum[:])}
}

// scripts are the scripts of one store.
type scripts struct {
	acquire, renew, release, withdraw, leader, candidates, terms, create, vouch, retire, evict, drain script
}

// newScripts are those of a store whose keys stay, or expire after so long.
func newScripts(expire time.Duration) scripts {
	writing := func(text string) script {
		if expire > 0 {
			text = texts.Expiring(text, expire)
		}
		return newScript(text)
	}
	return scripts{
		acquire:  writing(texts.Acquire()),
		renew:    writing(texts.Renew()),
		release:  writing(texts.Release()),
		withdraw: newScript(texts.Withdraw()),
		leader:   newScript(texts.Leader()),

		candidates: newScript(texts.Candidates()),
		terms:      newScript(texts.Terms()),
		create:     writing(texts.Create()),
		vouch:      writing(texts.Vouch()),
		retire:     newScript(texts.Retire()),
		evict:      newScript(texts.Evict()),
		drain:      newScript(texts.Drain()),
	}
}

// atLine finds the line in which a script stopped, and called what that line asks for.
var (
	atLine = regexp.MustCompile(`user_script: ?(\d+)`)
	called = regexp.MustCompile(`(?:call|try)\('([A-Z]+)'`)
)

// asks is the command that the script asked for when the server refused it, as far as the
// server's words say in which line that was, else "".
func (sc *script) asks(words string) string {
	at := atLine.FindStringSubmatch(words)
	if at == nil {
		return ""
	}
	lines := strings.Split(sc.text, "\n")
	n, err := strconv.Atoi(at[1])
	if err != nil || n < 1 || n > len(lines) {
		return ""
	}
	if names := called.FindAllStringSubmatch(lines[n-1], 2); len(names) == 1 { // else it is one of several
		return names[0][1]
	}
	return ""
}

// asked is the command that the script of a call, as judge names it, had asked for when it
// was refused; "" if that is not known.
func (s *Store) asked(call string, err error) string {
	sc := map[string]*script{
		"acquire": &s.scripts.acquire, "renew": &s.scripts.renew, "release": &s.scripts.release, "withdraw": &s.scripts.withdraw,
		"observe": &s.scripts.leader, "candidates of": &s.scripts.candidates, "history of": &s.scripts.terms,
		"create": &s.scripts.create, "vouch for": &s.scripts.vouch, "retire": &s.scripts.retire, "evict from": &s.scripts.evict, "drain audit of": &s.scripts.drain,
	}[call]
	if sc == nil || !isReply(err) {
		return ""
	}
	return sc.asks(err.Error())
}

// run executes the script in one command. A server that does not know it (new,
// restarted, failed over, flushed) says so without executing anything, and
// then gets the whole text within the same ctx.
func (s *Store) run(ctx context.Context, sc *script, keys []string, args ...any) (any, error) {
	if !s.clustered() {
		done := s.batches.do(ctx, sc.order(keys, args))
		return done.reply, done.err
	}
	// Its client repeats commands of a pipeline, and sends single ones to where they
	// belong.
	o := sc.order(keys, args)
	return s.with(ctx, func(c *client) (any, error) {
		reply, err := o.alone(ctx, c, false)
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			reply, err = o.alone(ctx, c, true)
		}
		return reply, err
	})
}

// with calls do with the client that is there, and notes how it fared.
func (s *Store) with(ctx context.Context, do func(*client) (any, error)) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return inTime(ctx, s.foreign, func() (any, error) {
		c, err := s.use()
		if err != nil {
			return nil, err
		}
		defer s.done(c)
		began := time.Now()
		reply, err := do(c)
		s.account(ctx, c, began, err)
		return reply, err
	})
}

package redisstore

import (
	"context"
	"crypto/sha1" //nolint:gosec // Redis names scripts by their SHA-1
	_ "embed"
	"encoding/hex"

	"github.com/redis/go-redis/v9"
)

//go:embed scripts/shared.lua
var sharedText string

//go:embed scripts/acquire.lua
var acquireText string

//go:embed scripts/renew.lua
var renewText string

//go:embed scripts/release.lua
var releaseText string

//go:embed scripts/leader.lua
var leaderText string

//go:embed scripts/candidates.lua
var candidatesText string

//go:embed scripts/retire.lua
var retireText string

//go:embed scripts/create.lua
var createText string

//go:embed scripts/drain.lua
var drainText string

// script is a Lua script and the name by which a server knows it.
type script struct {
	text string
	sha  string
}

func newScript(text string) script {
	text = sharedText + text
	sum := sha1.Sum([]byte(text)) //nolint:gosec // see the import
	return script{text: text, sha: hex.EncodeToString(sum[:])}
}

// scripts are the scripts of one store.
type scripts struct {
	acquire, renew, release, leader, candidates, create, retire, drain script
}

func newScripts() scripts {
	return scripts{
		acquire: newScript(acquireText),
		renew:   newScript(renewText),
		release: newScript(releaseText),
		leader:  newScript(leaderText),

		candidates: newScript(candidatesText),
		create:     newScript(createText),
		retire:     newScript(retireText),
		drain:      newScript(drainText),
	}
}

// scripter executes scripts: a client, or one connection of it.
type scripter interface {
	EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd
	Eval(ctx context.Context, text string, keys []string, args ...any) *redis.Cmd
}

// run executes the script in one command. A server that does not know it (new,
// restarted, failed over, flushed) says so without executing anything, and
// then gets the whole text within the same ctx.
func (s *Store) run(ctx context.Context, sc *script, keys []string, args ...any) (any, error) {
	return s.with(ctx, func(c *client) (any, error) { return evaluate(ctx, c, sc, keys, args) })
}

func (s *Store) with(ctx context.Context, do func(*client) (any, error)) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c, err := s.current()
	if err != nil {
		return nil, err
	}
	reply, err := do(c)
	s.account(ctx, c, err)
	return reply, err
}

func evaluate(ctx context.Context, c scripter, sc *script, keys []string, args []any) (any, error) {
	reply, err := c.EvalSha(ctx, sc.sha, keys, args...).Result()
	err = plain(err)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		reply, err = c.Eval(ctx, sc.text, keys, args...).Result()
		err = plain(err)
	}
	return reply, err
}

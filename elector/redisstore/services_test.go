package redisstore

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/store"
)

// The words of services, from public reports.
const (
	notFromScript = "ERR This Redis command is not allowed from script script: SHA, on @user_script:LINE."
	otherSlots    = "CROSSSLOT Keys in request don't hash to the same slot"
	unknownQuoted = "ERR unknown command 'NAME', with args beginning with: "
	unknownTicked = "ERR unknown command `NAME`, with args beginning with: "
	unavailable   = "ERR Command is not available: 'NAME'. See https://upstash.com/docs/redis/overall/rediscompatibility for details"
	unsupported   = "unsupported command 'NAME'"
	notSupported  = "ERR Error running script: @user_script:LINE: not supported stack traceback:  [G]: in function 'call'  @user_script:LINE: in main chunk  [G]: ?"
	badScript     = "ERR bad lua script for redis cluster, all the keys that the script uses should be passed using the KEYS array"
)

// words are answers to several commands.
func words(text string, commands ...string) map[string]string {
	all := map[string]string{}
	for _, name := range commands {
		all[name] = text
	}
	return all
}

// proxied is how Alibaba's older proxies judge a script by its text.
func proxied(text string) string {
	for _, bad := range []string{"= KEYS[", "PUBLISH", "PUBSUB", "unpack("} {
		if strings.Contains(text, bad) {
			return badScript
		}
	}
	return ""
}

// hushed is a service that refuses some scripts and does not say why.
func hushed(text string) string {
	if strings.Contains(text, "\n-- acquire takes") || strings.Contains(text, "\n-- release ends") {
		return "ERR no"
	}
	return ""
}

// serverless is ElastiCache Serverless: no scripts that ask for the time.
var serverless = service{
	name: "ElastiCache Serverless", inside: words(notFromScript, "TIME"), apart: otherSlots,
	outside: words(unknownQuoted, "hello", "wait", "waitaof", "config", "psubscribe", "client list"),
}

// suited are the services on which elections can be held, and what a preflight finds there.
var suited = []struct {
	service
	options Options
	wants   []finding
}{
	{service{
		name: "Redis Enterprise", inside: words(notFromScript, "INFO"), apart: otherSlots,
		outside: words("ERR Unsupported CONFIG parameter: maxmemory-policy", "config"),
	}, Options{}, []finding{
		{store.SeverityWarning, "scripts", "protected less, without INFO in scripts, which the server refuses: \"ERR This Redis command is not allowed", "INFO"},
		{store.SeverityNote, "slots", "CROSSSLOT", "Create"},
		{store.SeverityNote, "unread", "Unsupported CONFIG parameter", "+config|get"},
	}},
	{service{name: "Azure Cache for Redis", outside: words(unknownTicked, "config")}, Options{}, []finding{
		{store.SeverityNote, "unread", "CONFIG GET (ERR unknown command `", "+config|get"},
	}},
	{service{name: "MemoryDB", outside: words(unknownTicked, "config"), apart: otherSlots, cluster: true}, Options{}, []finding{
		{store.SeverityNote, "unread", "CONFIG GET (ERR unknown command `", "+config|get"},
	}},
	{service{
		name: "Upstash", inside: words(notSupported, "INFO", "PUBSUB"),
		outside: words(unavailable, "config", "wait", "waitaof", "client list", "cluster"),
	}, Options{}, []finding{
		{store.SeverityWarning, "scripts", "without INFO in scripts, which the server refuses: \"ERR Error running script", "INFO"},
		{store.SeverityNote, "scripts", "without PUBSUB NUMSUB in scripts", "PUBSUB NUMSUB"},
		{store.SeverityNote, "unread", "CONFIG GET (ERR Command is not available", "+config|get"},
	}},
	{service{name: "Envoy", outside: words(unsupported, "hello", "subscribe", "unsubscribe", "pubsub", "wait", "waitaof", "client", "config", "info", "scan")}, Options{}, []finding{
		{store.SeverityWarning, "rights", "nobody is woken when a lease is released, so the next leader comes only when its own try is due, without subscribe,", "a proxy that has subscribe"},
		{store.SeverityNote, "unread", "INFO (unsupported command", "+info"},
		{store.SeverityNote, "keys", "unsupported command", "+scan"},
	}},
	{service{
		name: "Dragonfly", outside: words("ERR unknown command `NAME`", "wait", "waitaof"),
		apart: "ERR Error running script (call to SHA): @user_script:LINE: script tried accessing undeclared key",
	}, Options{}, []finding{
		{store.SeverityNote, "slots", "undeclared key", "Create"},
	}},
}

// A preflight of each service names what it lacks, once, and calls nothing an error that
// elections can be held without.
func TestPreflightOfServices(t *testing.T) {
	r := startOwn(t, &redis.Options{}, durable...)
	for _, c := range append(suited, []struct {
		service
		options Options
		wants   []finding
	}{
		{serverless, Options{}, []finding{
			{store.SeverityError, "scripts", "nobody can be elected without TIME in scripts, which the server refuses: \"ERR This Redis command is not allowed", "scripts may use TIME"},
			{store.SeverityNote, "slots", "CROSSSLOT", "Create"},
			{store.SeverityNote, "unread", "CONFIG GET", "+config|get"},
		}},
		{service{
			name: "Tair with a proxy", judge: proxied, apart: "ERR eval/evalsha command keys must be in same slot",
			outside: map[string]string{"wait": "ERR unknown command 'NAME'", "waitaof": "ERR unknown command 'NAME'", "config": "NOPERM this user has no permissions to run the 'config|get' command"},
		}, Options{}, []finding{
			{store.SeverityError, "scripts", "refuses the scripts acquire, renew and release, so nobody can be elected: \"ERR bad lua script", "script_check_enable"},
			{store.SeverityNote, "slots", "command keys must be in same slot", "Create"},
			{store.SeverityNote, "unread", "CONFIG GET (NOPERM", "+config|get"},
		}},
		{service{name: "Dragonfly, with Replicas", outside: words("ERR unknown command `NAME`", "wait", "waitaof")}, Options{Replicas: 1}, []finding{
			{store.SeverityError, "rights", "Options.Replicas, Fsynced, FsyncedReplicas), and none ever is without wait,", "+wait"},
			{store.SeverityError, "replicas", "Options.Replicas is 1 and 0", "connect 1 replica"},
		}},
		{service{name: "Upstash, with Replicas", outside: words("ERR no words of anybody's", "wait", "client list")}, Options{Replicas: 1}, []finding{
			{store.SeverityError, "rights", "and none ever is without client|list, wait,", "+client|list +wait"},
			{store.SeverityError, "replicas", "Options.Replicas is 1 and 0", "connect 1 replica"},
		}},
		{service{name: "one that hides the reason", judge: hushed}, Options{}, []finding{
			{store.SeverityError, "scripts", "the server refuses the scripts acquire and release, so nobody can be elected: \"ERR no\"", "operator"},
		}},
		{service{name: "one that names the line", inside: words("ERR no, @user_script:LINE", "HSET")}, Options{}, []finding{
			{store.SeverityError, "scripts", "nobody can be elected without HSET in scripts, which the server refuses: \"ERR no,", "HSET"},
		}},
		{service{name: "one that hides the candidates", inside: words("ERR no, @user_script:LINE", "HGETALL")}, Options{}, []finding{
			{store.SeverityNote, "scripts", "the server refuses the script candidates, which asks for HGETALL, so Candidates fails: \"ERR no,", "operator"},
		}},
		{service{name: "one that goes on without", inside: words("ERR no", "LPUSH", "PUBLISH")}, Options{}, []finding{
			{store.SeverityNote, "scripts", "History fail or stay empty, without LPUSH in scripts", "LPUSH"},
			{store.SeverityWarning, "scripts", "nobody is woken when a lease is released, so the next leader comes only when its own try is due, without PUBLISH in scripts", "PUBLISH"},
		}},
		{service{name: "one with other words for slots", apart: "ERR not here"}, Options{}, []finding{
			{store.SeverityError, "slots", "words that the store does not know, so nobody can be elected: \"ERR not here\"", "report the words"},
		}},
		{service{name: "none"}, Options{}, nil},
	}...) {
		t.Run(c.name, func(t *testing.T) {
			before := r.do(t, "DBSIZE")
			p := inspect(t, r.ctx, emulate(t, r, c.service).open(t, c.options))
			bad := 0
			for _, want := range c.wants {
				want.demand(t, p)
				if want.severity == store.SeverityError {
					bad++
				}
			}
			for _, f := range p.Findings {
				if f.Severity == store.SeverityError {
					bad--
				}
			}
			others := len(p.Findings) - len(c.wants) - 1 // latency
			if c.cluster {
				others-- // cluster-replicas
			}
			if bad != 0 || others != 0 {
				t.Errorf("%d errors too few, %d findings too many:\n%s", bad, others, list(p))
			}
			if after := r.do(t, "DBSIZE"); after != before {
				t.Errorf("%v keys before, %v after: %v", before, after, r.do(t, "KEYS", "*"))
			}
		})
	}
}

// What a preflight wrote and could not remove ends by itself within ten seconds.
func TestPreflightLeavesNothingForLong(t *testing.T) {
	r := startOwn(t, &redis.Options{}, durable...)
	for name, apart := range map[string]string{"with a witness": "", "with the guard": otherSlots} {
		before := r.do(t, "DBSIZE")
		inspect(t, r.ctx, emulate(t, r, service{apart: apart, outside: words("ERR no", "del")}).open(t, Options{Audit: true}))
		keys := r.admin.Keys(r.ctx, "*").Val()
		if int64(len(keys)) <= before.(int64) {
			t.Errorf("%s: %q: nothing was left to end", name, keys)
		}
		for _, key := range keys {
			if left := r.admin.PTTL(r.ctx, key).Val(); left <= 0 || left > 10*time.Second {
				t.Errorf("%s: %s lasts %v, want at most 10s", name, key, left)
			}
		}
	}
}

// Elections are held on every service that can hold them: with a witness of their own
// where keys of several slots are refused, and without INFO where scripts may not ask.
func TestElectionsOnServices(t *testing.T) {
	r := startOwn(t, &redis.Options{}, durable...)
	for _, c := range suited {
		t.Run(c.name, func(t *testing.T) {
			if err := r.admin.FlushAll(r.ctx).Err(); err != nil {
				t.Fatal(err)
			}
			s := emulate(t, r, c.service).open(t, c.options)
			if err := s.Vouch(r.ctx, "billing"); err != nil {
				t.Fatal(err)
			}
			a := attempt("n1", "a")
			g := mustAcquire(t, r, s, a)
			_ = mustRefuse(t, r, s, attempt("n2", "b"))
			l := lease(a, g.Token)
			if err := s.Renew(r.ctx, l); err != nil {
				t.Errorf("renew: %v", err)
			}
			if got, err := s.Leader(r.ctx, "billing"); err != nil || got.ID != "n1" || got.Token != g.Token {
				t.Errorf("leader: %+v, %v, want n1 with token %d", got, err, g.Token)
			}
			if got, err := s.Candidates(r.ctx, "billing"); err != nil || len(got) != 2 {
				t.Errorf("candidates: %+v, %v, want 2", got, err)
			}
			if got, err := s.History(r.ctx, "billing", 5); err != nil || len(got) != 1 {
				t.Errorf("history: %+v, %v, want 1 term", got, err)
			}
			mustRelease(t, r, s, l)
			if next := mustAcquire(t, r, s, attempt("n2", "c")); next.Token <= g.Token {
				t.Errorf("the next token is %d, the first one %d", next.Token, g.Token)
			}
		})
	}
}

// A service that can never serve ends the candidate at once, and the error names the
// command that it refuses to scripts.
func TestServiceThatCannotServeIsFatal(t *testing.T) {
	r := startReal(t)
	_, err := emulate(t, r, serverless).open(t, Options{}).Acquire(r.ctx, attempt("n1", "a"))
	var fatal *store.FatalError
	if !errors.As(err, &fatal) || !strings.Contains(err.Error(), "(the script asked for TIME)") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one line of a FatalError that names TIME", err)
	}
}

// The words of services for keys of several slots make the store send the guard in place
// of the witness.
func TestOtherWordsForSlots(t *testing.T) {
	r := startReal(t)
	for _, text := range []string{
		otherSlots,
		"ERR eval/evalsha command keys must be in same slot",
		"ERR 'evalsha' command keys must in same slot",
		"ERR Script attempted to access keys that do not hash to the same slot script: SHA, on @user_script:LINE.",
		"ERR Error running script (call to f_SHA): @user_script:LINE: @user_script: LINE: Lua script attempted to access a non local key in a cluster node",
		"ERR Error running script (call to SHA): @user_script:LINE: script tried accessing undeclared key",
		badScript,
	} {
		if err := r.admin.FlushAll(r.ctx).Err(); err != nil {
			t.Fatal(err)
		}
		s := emulate(t, r, service{apart: text}).open(t, Options{Unprotected: true})
		if _, err := s.Acquire(r.ctx, attempt("n1", "a")); err != nil {
			t.Errorf("acquire where keys of several slots are refused with %q: %v", text, err)
		}
		if w := s.Witness(); w != "" {
			t.Errorf("after %q the store still has the witness %s", text, w)
		}
	}
}

// A server that has too much to do is no error: its refusals pass, and the preflight and
// the store's error say so.
func TestOverloadPasses(t *testing.T) {
	r := startOwn(t, &redis.Options{}, durable...)
	for text, hint := range map[string]string{
		"ERR max number of clients reached":                                                                 "too many connections",
		"ERR max concurrent connections exceeded":                                                           "too many connections",
		"ERR request refused, too many pending request, now count 1001, beyond threshold 1000":              "too much to do",
		"ERR redis temporary failure":                                                                       "too much to do",
		"ERR max daily request limit exceeded":                                                              "quota",
		"ERR max requests limit exceeded. Limit: 500000, Usage: 500000. See https://upstash.com/docs/redis": "quota",
	} {
		s := emulate(t, r, service{outside: words(text, "eval", "evalsha")}).open(t, Options{})
		p := inspect(t, r.ctx, s)
		finding{store.SeverityWarning, "overload", "passes", "this passes"}.demand(t, p)
		finding{store.SeverityWarning, "overload", text, hint}.demand(t, p)
		if p.Worst() != store.SeverityWarning || slices.ContainsFunc(p.Findings, func(f store.Finding) bool { return f.Subject == "scripts" }) {
			t.Errorf("%q: found\n%s", text, list(p))
		}
		_, err := s.Acquire(r.ctx, attempt("n1", "a"))
		var fatal *store.FatalError
		if err == nil || errors.As(err, &fatal) || !strings.Contains(err.Error(), "this passes") {
			t.Errorf("acquire answered %q: %v, want a passing error that says so", text, err)
		}
	}
}

// A server that takes no more connections is told from one that is away.
func TestPreflightWithoutAConnection(t *testing.T) {
	r := startOwn(t, &redis.Options{PoolSize: 1}, "--maxclients", "1")
	r.do(t, "PING") // takes the only one
	s := openAt(t, &redis.UniversalOptions{Addrs: []string{r.addr}, ReadTimeout: time.Second}, Options{})
	_, err := s.Preflight(r.ctx)
	if err == nil || !strings.Contains(err.Error(), "max number of clients reached") || !strings.Contains(err.Error(), "this passes") {
		t.Errorf("got %v, want the server's words, and that this passes", err)
	}
}

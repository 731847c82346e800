package redisstore

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/store"
)

// finding is what a test wants to be found.
type finding struct {
	severity  store.Severity
	subject   string
	text, fix string // parts of them
}

func inspect(t *testing.T, ctx context.Context, s *Store) store.Preflight {
	t.Helper()
	p, err := s.Preflight(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Findings {
		if f.Fix == "" && f.Subject != "latency" || f.Text == "" || strings.Contains(f.Text+f.Fix, nodeMark) {
			t.Errorf("an unhelpful finding: %+v", f)
		}
	}
	if n := strings.Count(p.Guarantee, ". ") + 1; n < 2 || n > 6 || !strings.HasSuffix(p.Guarantee, ".") {
		t.Errorf("the guarantee has %d sentences: %s", n, p.Guarantee)
	}
	return p
}

func (want finding) demand(t *testing.T, p store.Preflight) {
	t.Helper()
	for _, f := range p.Findings {
		if f.Severity == want.severity && f.Subject == want.subject && strings.Contains(f.Text, want.text) && strings.Contains(f.Fix, want.fix) {
			return
		}
	}
	t.Errorf("nothing like %+v was found:\n%s", want, list(p))
}

// refuse wants nothing to be found about the subject.
func refuse(t *testing.T, p store.Preflight, subjects ...string) {
	t.Helper()
	for _, f := range p.Findings {
		if slices.Contains(subjects, f.Subject) {
			t.Errorf("found without a reason: %+v", f)
		}
	}
}

func list(p store.Preflight) string {
	var b strings.Builder
	for _, f := range p.Findings {
		b.WriteString(string(f.Severity) + " " + f.Subject + ": " + f.Text + " => " + f.Fix + "\n")
	}
	return b.String() + p.Guarantee
}

// durable are the settings of a server of which nothing is to be said.
var durable = []string{"--appendonly", "yes", "--appendfsync", "always"}

// On a server that keeps everything nothing is found but how long a round trip
// takes, and nothing is left behind.
func TestPreflightOfAGoodServer(t *testing.T) {
	r := startOwn(t, &redis.Options{}, durable...)
	s := r.open(t, Options{Audit: true})
	mustRelease(t, r, s, lease(attempt("n1", "a"), mustAcquire(t, r, s, attempt("n1", "a")).Token))
	before := r.contents(t)
	p := inspect(t, r.ctx, s)
	if len(p.Findings) != 1 {
		t.Errorf("found:\n%s", list(p))
	}
	finding{store.SeverityNote, "latency", "20 round trips", ""}.demand(t, p)
	for _, part := range []string{"this server keeps its data", "nobody is granted one for as long as", "No replica is connected", "refusing tokens"} {
		if !strings.Contains(p.Guarantee, part) {
			t.Errorf("the guarantee does not say %q: %s", part, p.Guarantee)
		}
	}
	if after := r.contents(t); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	open := r.connections(t)
	for range 3 {
		_ = inspect(t, r.ctx, s)
	}
	for r.connections(t) > open { // the server notices a little later that one was closed
	}
}

// contents are all keys with what they hold.
func (r *server) contents(t *testing.T) string {
	t.Helper()
	var all []string
	for _, key := range r.admin.Keys(r.ctx, "*").Val() {
		all = append(all, key+" "+strconv.Quote(r.do(t, "DUMP", key).(string)))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

func (r *server) connections(t *testing.T) int {
	t.Helper()
	return strings.Count(r.do(t, "CLIENT", "LIST").(string), "\n")
}

// Each setting that weakens the guarantee is found, with what to do about it.
func TestPreflightOfSettings(t *testing.T) {
	const note, warning, bad = store.SeverityNote, store.SeverityWarning, store.SeverityError
	unprotected := Options{Unprotected: true}
	for _, c := range []struct {
		name     string
		settings []string
		options  Options
		want     finding
	}{
		{"allkeys", []string{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}, Options{}, finding{warning, "maxmemory-policy", "tokens jump", "noeviction"}},
		{"allkeys unprotected", []string{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lfu"}, unprotected, finding{bad, "maxmemory-policy", "two candidates", "noeviction"}},
		{"volatile", []string{"--maxmemory", "100mb", "--maxmemory-policy", "volatile-ttl"}, Options{}, finding{warning, "maxmemory-policy", "leases are evicted", "noeviction"}},
		{"full", []string{"--maxmemory", "100kb"}, Options{}, finding{bad, "maxmemory", "writes are refused", "raise maxmemory"}},
		{"nothing kept", []string{"--appendonly", "no"}, Options{}, finding{note, "persistence", "nothing is kept", "appendfsync always"}},
		{"nothing kept unprotected", []string{"--appendonly", "no"}, unprotected, finding{warning, "persistence", "tokens are handed out twice", "appendonly yes"}},
		{"snapshots", []string{"--appendonly", "no", "--save", "3600 1"}, Options{}, finding{note, "persistence", "only snapshots", "appendonly yes"}},
		{"every second", []string{"--appendfsync", "everysec"}, Options{}, finding{note, "appendfsync", "two seconds", "appendfsync always"}},
		{"when it likes", []string{"--appendfsync", "no"}, unprotected, finding{warning, "appendfsync", "operating system", "everysec"}},
		{"replica", []string{"--replicaof", "127.0.0.1 1"}, Options{}, finding{bad, "role", "127.0.0.1:1", "connect to the primary at 127.0.0.1:1"}},
		{"silent replica", []string{"--replicaof", "127.0.0.1 1", "--replica-serve-stale-data", "no"}, Options{}, finding{bad, "role", "does not even answer", "primary"}},
		{"too few replicas", nil, Options{Replicas: 2}, finding{bad, "replicas", "nobody can lead", "connect 2 replicas more, or set Options.Replicas to 0"}},
		{"writes refused", []string{"--min-replicas-to-write", "1"}, Options{}, finding{bad, "min-replicas-to-write", "is 1 and 0 replicas are connected", "connect 1 replica more"}},
		{"cluster unsaid", clusterSettings(t), Options{}, finding{bad, "cluster_enabled", "not told so", "cluster=true"}},
		{"no info", []string{"--rename-command", "INFO", ""}, Options{}, finding{warning, "rights", "cannot be told from the one before", "+info"}},
		{"no config", []string{"--rename-command", "CONFIG", ""}, Options{}, finding{note, "unread", "CONFIG GET", "+config|get"}},
		{"no scripts", []string{"--rename-command", "EVALSHA", ""}, Options{}, finding{bad, "rights", "nobody can be elected without evalsha", "+evalsha"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := startOwn(t, &redis.Options{}, append(slices.Clone(durable), c.settings...)...)
			s := openAt(t, &redis.UniversalOptions{Addrs: []string{r.addr}}, c.options)
			p := inspect(t, r.ctx, s)
			c.want.demand(t, p)
			if says := strings.Contains(p.Guarantee, "elections will fail"); says != (c.want.severity == bad) {
				t.Errorf("worst is %s, and the guarantee says %s\n%s", p.Worst(), p.Guarantee, list(p))
			}
			if c.options.Unprotected && !strings.Contains(p.Guarantee, "Options.Unprotected") {
				t.Errorf("the guarantee does not tell that it is switched off: %s", p.Guarantee)
			}
			if len(c.settings) > 0 && c.name != "no info" && c.name != "cluster unsaid" {
				refuse(t, p, "clock", "scripts", "type")
			}
		})
	}
}

// A server that refuses writes after a question for the time is found before anybody
// tries: versions 5 and 6 have a setting for that.
func TestPreflightOfOldReplication(t *testing.T) {
	for value, want := range map[string]bool{"no": true, "yes": false, "": false} {
		n := &node{info: map[string]string{"redis_version": "6.2.14"}, config: map[string]string{"lua-replicate-commands": value}}
		is := false
		n.effects(func(severity store.Severity, subject, _, _ string) {
			is = severity == store.SeverityError && subject == "lua-replicate-commands"
		})
		if is != want {
			t.Errorf("%q: said %v, want %v", value, is, want)
		}
	}
}

// Memory that is nearly used up is found before writes are refused.
func TestPreflightOfScarceMemory(t *testing.T) {
	r := startOwn(t, &redis.Options{}, durable...)
	s := r.open(t, Options{})
	r.do(t, "CONFIG", "SET", "maxmemory", "100mb")
	refuse(t, inspect(t, r.ctx, s), "maxmemory")
	info, err := r.admin.InfoMap(r.ctx, "memory").Result()
	if err != nil {
		t.Fatal(err)
	}
	used, err := strconv.Atoi(info["Memory"]["used_memory"])
	if err != nil {
		t.Fatal(err)
	}
	r.do(t, "CONFIG", "SET", "maxmemory", used+used/32)
	finding{store.SeverityWarning, "maxmemory", "once it is full", "raise maxmemory"}.demand(t, inspect(t, r.ctx, s))
}

// The replicas that are connected are compared with those asked for.
func TestPreflightOfReplicas(t *testing.T) {
	r := startOwn(t, &redis.Options{}, durable...)
	host, port, err := net.SplitHostPort(r.addr)
	if err != nil {
		t.Fatal(err)
	}
	const online = 3
	for range online {
		startOwn(t, &redis.Options{}, "--replicaof", host+" "+port)
	}
	for n := 0; n < online; {
		info, err := r.admin.Info(r.ctx, "replication").Result()
		if err != nil {
			t.Fatal(err)
		}
		n = strings.Count(info, "state=online")
	}
	const note, warning, bad = store.SeverityNote, store.SeverityWarning, store.SeverityError
	for asked, want := range []struct {
		finding
		guarantee string
	}{
		{finding{warning, "replicas", "cut off with 0 of them may keep its leader while one of the other 3", "Options.Replicas to 2"}, "asynchronous and not waited for"},
		{finding{warning, "replicas", "With 2, the primary and those that confirm are 3 of 4", "Options.Replicas to 2"}, "fewer than half"},
		{finding{}, "cannot keep its leader"},
		{finding{note, "replicas", "when one of them is away, nobody can lead", "another replica"}, "cannot keep its leader"},
		{finding{bad, "replicas", "Options.Replicas is 4 and 3", "connect 1 replica more"}, "see the errors"},
	} {
		p := inspect(t, r.ctx, r.open(t, Options{Replicas: asked}))
		if want.subject == "" {
			refuse(t, p, "replicas")
		} else {
			want.demand(t, p)
		}
		if !strings.Contains(p.Guarantee, want.guarantee) {
			t.Errorf("Replicas %d: the guarantee is %s", asked, p.Guarantee)
		}
	}
}

// A user who may not do everything is told what is missing for what.
func TestPreflightOfRights(t *testing.T) {
	r := startOwn(t, &redis.Options{}, durable...)
	const note, warning, bad = store.SeverityNote, store.SeverityWarning, store.SeverityError
	for name, c := range map[string]struct {
		rules   []any
		options Options
		want    finding
	}{
		"one command": {[]any{"-pttl"}, Options{}, finding{bad, "rights", "elected without pttl", "ACL SETUSER some +pttl"}},
		"several":     {[]any{"-hset", "-del", "-set"}, Options{}, finding{bad, "rights", "without del, hset, set", "+del +hset +set"}},
		"eval":        {[]any{"-eval"}, Options{}, finding{bad, "rights", "without eval,", "+eval"}},
		"time":        {[]any{"-time"}, Options{}, finding{bad, "rights", "without time", "+time"}},
		"ping":        {[]any{"-ping"}, Options{}, finding{warning, "rights", "woken when a lease is released", "+ping"}},
		"info":        {[]any{"-info"}, Options{}, finding{warning, "rights", "protected less", "+info"}},
		"hidden info": {[]any{"-info"}, Options{}, finding{note, "unread", "INFO", "+info"}},
		"publish":     {[]any{"-publish"}, Options{}, finding{warning, "rights", "without publish", "+publish"}},
		"subscribe":   {[]any{"-subscribe"}, Options{}, finding{warning, "rights", "without subscribe", "+subscribe"}},
		"unsubscribe": {[]any{"-unsubscribe"}, Options{}, finding{note, "rights", "stays subscribed", "+unsubscribe"}},
		"numsub":      {[]any{"-pubsub"}, Options{}, finding{note, "rights", "how many candidates wait", "+pubsub|numsub"}},
		"create":      {[]any{"-exists"}, Options{}, finding{note, "rights", "Create fails without exists", "+exists"}},
		"history":     {[]any{"-lpush", "-hgetall"}, Options{}, finding{note, "rights", "without hgetall, lpush", "+hgetall +lpush"}},
		"wait":        {[]any{"-wait"}, Options{Replicas: 1}, finding{bad, "rights", "Options.Replicas", "+wait"}},
		"audit":       {[]any{"-rpush"}, Options{Audit: true}, finding{bad, "rights", "Options.Audit", "+rpush"}},
		"keys":        {[]any{"resetkeys", "~other:*"}, Options{}, finding{bad, "keys", "begin with recount:", "~recount:*"}},
		"channels":    {[]any{"resetchannels"}, Options{}, finding{warning, "channels", "begin with recount:", "&recount:*"}},
		"scan":        {[]any{"-scan"}, Options{}, finding{note, "keys", "could not be looked at", "+scan"}},
		"settings":    {[]any{"-config"}, Options{}, finding{note, "unread", "CONFIG GET", "+config|get"}},
	} {
		t.Run(name, func(t *testing.T) {
			r.do(t, append([]any{"ACL", "SETUSER", "some", "reset", "on", ">" + secret, "~*", "&*", "+@all"}, c.rules...)...)
			s := openAt(t, &redis.UniversalOptions{Addrs: []string{r.addr}, Username: "some", Password: secret}, c.options)
			p := inspect(t, r.ctx, s)
			c.want.demand(t, p)
			rights := 0
			for _, f := range p.Findings {
				if f.Subject == "rights" || f.Subject == "keys" || f.Subject == "channels" {
					rights++
				}
			}
			if rights > 1 {
				t.Errorf("more than that is said to be missing:\n%s", list(p))
			}
			if keys := r.admin.Keys(r.ctx, "*preflight*").Val(); len(keys) != 0 {
				t.Errorf("%q are left", keys)
			}
		})
	}
}

// A user with the rights that the package asks for lacks none.
func TestPreflightOfTheDocumentedRights(t *testing.T) {
	r := startOwn(t, &redis.Options{}, durable...)
	rules := []any{"ACL", "SETUSER", "some", "reset", "on", ">" + secret, "~recount:*", "&recount:*"}
	for _, right := range strings.Fields("evalsha eval get set del pexpire pexpireat pttl time hset hget hmget hdel info publish subscribe unsubscribe ping pubsub|numsub exists hlen hscan hgetall lpush ltrim lrange wait rpush") {
		rules = append(rules, "+"+right)
	}
	r.do(t, rules...)
	p := inspect(t, r.ctx, openAt(t, &redis.UniversalOptions{Addrs: []string{r.addr}, Username: "some", Password: secret}, Options{Audit: true}))
	refuse(t, p, "rights", "channels", "scripts")
	finding{store.SeverityNote, "keys", "could not be looked at", "+scan"}.demand(t, p)
	finding{store.SeverityNote, "unread", "CONFIG GET", "+config|get"}.demand(t, p)
	if p.Worst() != store.SeverityNote {
		t.Errorf("found:\n%s", list(p))
	}
}

// Keys that no elector of this version wrote are named.
func TestPreflightOfForeignKeys(t *testing.T) {
	r := startOwn(t, &redis.Options{}, durable...)
	s := r.open(t, Options{Prefix: "a*b:"})
	mustAcquire(t, r, s, attempt("n1", "with spaces"))
	r.do(t, "SET", "axb:{other}:lease", "not under the prefix")
	refuse(t, inspect(t, r.ctx, s), "lease", "counter", "type", "keys")
	r.do(t, "SET", "a*b:{old}:lease", "n1:5")
	r.do(t, "SET", "a*b:{odd}:token", "007")
	r.do(t, "LPUSH", "a*b:{list}:lease", "x")
	r.do(t, "SET", "a*b:{text}:guard", "x")
	p := inspect(t, r.ctx, s)
	finding{store.SeverityWarning, "lease", `["a*b:{old}:lease"]`, "DEL"}.demand(t, p)
	finding{store.SeverityError, "counter", `["a*b:{odd}:token"]`, "SET it to the highest"}.demand(t, p)
	finding{store.SeverityError, "type", "a*b:{list}:lease", "Prefix"}.demand(t, p)
	finding{store.SeverityError, "type", "a*b:{text}:guard", "Prefix"}.demand(t, p)
}

// A cluster of one node works, and is told apart from one without slots.
func TestPreflightOfACluster(t *testing.T) {
	r := startOwn(t, &redis.Options{}, append(clusterSettings(t), durable...)...)
	s := openAt(t, &redis.UniversalOptions{Addrs: []string{r.addr}, IsClusterMode: true}, Options{})
	finding{store.SeverityError, "cluster_state", "is fail", "CLUSTER NODES"}.demand(t, inspect(t, r.ctx, s))
	r.serveSlots(t)
	s = openAt(t, &redis.UniversalOptions{Addrs: []string{r.addr}, IsClusterMode: true}, Options{})
	p := inspect(t, r.ctx, s)
	finding{store.SeverityWarning, "cluster-replicas", r.addr, "replica"}.demand(t, p)
	refuse(t, p, "cluster_state", "cluster_enabled", "rights", "keys")
	if p.Worst() != store.SeverityWarning {
		t.Errorf("found:\n%s", list(p))
	}
}

// A server that knows little is no reason to fail.
func TestPreflightOfMiniredis(t *testing.T) {
	r := startMini(t)
	p := inspect(t, r.ctx, r.open(t, Options{}))
	finding{store.SeverityNote, "unread", "CONFIG GET", "+config|get"}.demand(t, p)
	finding{store.SeverityWarning, "scripts", "without INFO in scripts", "INFO"}.demand(t, p)
	refuse(t, p, "slots", "type")
	if p.Worst() != store.SeverityWarning {
		t.Errorf("found:\n%s", list(p))
	}
	if keys := r.mini.Keys(); slices.ContainsFunc(keys, func(key string) bool { return strings.Contains(key, "preflight") }) {
		t.Errorf("left behind: %q", keys)
	}
}

// A server that is away, that hangs or that lets nobody in is an error, and no
// finding.
func TestPreflightWithoutAnswer(t *testing.T) {
	locked := startOwn(t, &redis.Options{Password: secret}, "--requirepass", secret)
	hung := startFake(t, func([]string) string { return silence })
	for name, addr := range map[string]string{"away": "127.0.0.1:1", "hung": hung.addr, "locked": locked.addr} {
		for _, cluster := range []bool{false, true} {
			s := openAt(t, &redis.UniversalOptions{Addrs: []string{addr}, IsClusterMode: cluster, ReadTimeout: 50 * time.Millisecond}, Options{})
			_, err := s.Preflight(t.Context())
			var fatal *store.FatalError
			if err == nil || errors.As(err, &fatal) != (name == "locked") {
				t.Errorf("%s, cluster %v: %v", name, cluster, err)
			}
		}
	}
	s := openAt(t, &redis.UniversalOptions{Addrs: []string{locked.addr}}, Options{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Preflight(t.Context()); err == nil {
		t.Error("a closed store was inspected")
	}
}

// What depends on time is said by its numbers.
func TestPreflightOfTiming(t *testing.T) {
	v := &survey{store: openAt(t, &redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}}, Options{})}
	for _, c := range []struct {
		n    node
		want finding
	}{
		{node{timed: true, ahead: 3 * time.Second}, finding{store.SeverityNote, "clock", "3s ahead of ours", "NTP"}},
		{node{timed: true, ahead: -time.Hour}, finding{store.SeverityNote, "clock", "1h0m0s behind ours", "NTP"}},
		{node{trips: []time.Duration{time.Millisecond, 10 * time.Millisecond}}, finding{store.SeverityNote, "latency", "RequestTimeout should be 40ms or more: with the default proportions, Lease 240ms or more", ""}},
		{node{trips: []time.Duration{time.Second}}, finding{store.SeverityWarning, "latency", "Lease 24s or more", "nearer"}},
	} {
		var p store.Preflight
		v.timing(&c.n, func(severity store.Severity, subject, text, fix string) {
			p.Findings = append(p.Findings, store.Finding{Severity: severity, Subject: subject, Text: text, Fix: fix})
		})
		c.want.demand(t, p)
	}
	n := node{timed: true, ahead: 900 * time.Millisecond}
	v.timing(&n, func(_ store.Severity, subject, _, _ string) { t.Errorf("found %s of %+v", subject, n) })
}

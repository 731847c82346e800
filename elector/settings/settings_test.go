package settings

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/topology"
)

// secret is a password that must appear in no text.
const secret = "s3cret-w0rd"

// write makes a file of settings.
func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "elect.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A flag wins over the environment, the environment over the file, the file
// over the names of others; and each setting knows where it comes from.
func TestPrecedence(t *testing.T) {
	file := write(t, `
# all that can be said
name: billing
id: from-file
store: redis://file:1
prefix: "file:"
lease: 20s
renew: 4s
retry: 1s
request_timeout: 2s
drain_timeout: 1m30s
drift: 0.02
priority: 3
value: http://host:8080
failback: 1m
replicas: 1
fsynced: true
fsynced_replicas: 2
confirm: 50ms
unprotected: true
table: t
once: true
`)
	s, err := Load(Sources{
		File: file,
		Environ: []string{
			"ELECT_ID=from-env", "ELECT_RENEW=5s", "ELECT_ONCE=", "ELECT_TOKEN=7",
			"LEADER_KEY=pod", "LEASE_TIME=3", "REDIS_HOST=pod", "HOME=/",
		},
		Flags: map[string][]string{"renew": {"6s"}, "once": {"false"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	sources := s.sources
	s.sources = nil
	want := Settings{
		Election: "billing", ID: "from-env", Store: []string{"redis://file:1"}, Prefix: "file:",
		Lease: 20 * time.Second, Renew: 6 * time.Second, Retry: time.Second,
		RequestTimeout: 2 * time.Second, DrainTimeout: 90 * time.Second, Drift: 0.02,
		Priority: 3, Value: "http://host:8080", Failback: time.Minute, Replicas: 1, Fsynced: true, FsyncedReplicas: 2, Confirm: 50 * time.Millisecond, Unprotected: true, Table: "t",
	}
	if diff := cmp.Diff(want, s, cmp.AllowUnexported(Settings{})); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]string{"name": "elect.yaml line 3", "id": "ELECT_ID", "renew": "--renew", "lease": "elect.yaml line 7"} {
		if sources[name] != want {
			t.Errorf("%s comes from %q, want %q", name, sources[name], want)
		}
	}
}

// Every setting of the elector gets into its Config.
func TestConfig(t *testing.T) {
	s := Settings{
		Election: "x", ID: "me", Lease: 1, Renew: 2, Retry: 3, RequestTimeout: 4, DrainTimeout: 5,
		Drift: 0.1, Priority: 6, Failback: 7, Once: true, Value: "here",
	}
	want := elector.Config{
		Election: "x", ID: "me", Lease: 1, Renew: 2, Retry: 3, RequestTimeout: 4, DrainTimeout: 5,
		Drift: 0.1, Priority: 6, Failback: 7, Once: true, Value: "here",
	}
	if got := s.Config(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// The four names of others mean what they mean there, with their defaults; and
// what Kubernetes writes under one of them is not taken for a person's wish.
func TestFourNames(t *testing.T) {
	for name, c := range map[string]struct {
		environ     []string
		name, store string
		lease       time.Duration
	}{
		"all":              {[]string{"REDIS_HOST=db", "REDIS_PORT=7000", "LEADER_KEY=app", "LEASE_TIME=10"}, "app", "redis://db:7000", 10 * time.Second},
		"their defaults":   {[]string{"REDIS_HOST=db"}, "leader", "redis://db:6379", 5 * time.Second},
		"a port alone":     {[]string{"REDIS_PORT=7000", "LEASE_TIME=0.5"}, "leader", "redis://127.0.0.1:7000", 500 * time.Millisecond},
		"IPv6 in brackets": {[]string{"REDIS_HOST=[::1]"}, "leader", "redis://[::1]:6379", 5 * time.Second},
		"part of a ms":     {[]string{"REDIS_HOST=db", "LEASE_TIME=1.0004"}, "leader", "redis://db:6379", time.Second},
		"IPv6":             {[]string{"REDIS_HOST=::1"}, "leader", "redis://[::1]:6379", 5 * time.Second},
		"none":             {nil, "", "", 0},
		"ours are more":    {[]string{"REDIS_HOST=db", "ELECT_STORE=redis://mine", "LEADER_KEY=app", "ELECT_LEASE=9s", "LEASE_TIME=3"}, "app", "redis://mine", 9 * time.Second},
		"no default of 5":  {[]string{"REDIS_HOST=db", "ELECT_STORE=redis://mine", "ELECT_NAME=n"}, "n", "redis://mine", 0},
		"Kubernetes":       {[]string{"REDIS_PORT=tcp://10.0.0.1:6379"}, "", "", 0},
		"Kubernetes' too":  {[]string{"REDIS_HOST=redis", "REDIS_PORT=tcp://10.0.0.1:6380"}, "leader", "redis://redis:6380", 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Load(Sources{Environ: c.environ})
			if err != nil {
				t.Fatal(err)
			}
			if s.Election != c.name || strings.Join(s.Store, " ") != c.store || s.Lease != c.lease {
				t.Errorf("%v", s)
			}
		})
	}
}

// Whatever is wrong is said with the setting, the place where it stands, and
// the values and the rule; the same mistake in any source.
func TestMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		file, env string
		flag      []string // name, value
		want      string
	}{
		"unknown key":        {file: "name: x\nleese: 3s\n", want: "leese (from elect.yaml line 2): there is no such setting: did you mean lease?"},
		"unlike any key":     {file: "grandmother: 3s\n", want: "known are confirm, drain_timeout, drift"},
		"key twice":          {file: "lease: 3s\nname: x\nlease: 4s\n", want: "lease (from elect.yaml line 3): it stands in line 1 already"},
		"no mapping":         {file: "- lease\n", want: "elect.yaml line 1: a setting is expected"},
		"no YAML":            {file: "a: [\n", want: "elect.yaml is not YAML: line"},
		"two documents":      {file: "lease: 3s\n---\nlease: 4s\n", want: "more than one document"},
		"nested":             {file: "lease:\n  long: true\n", want: "one value is expected"},
		"list of names":      {file: "name: [a, b]\n", want: "one value is expected"},
		"no unit":            {file: "lease: 15\n", want: `lease (from elect.yaml line 1): is "15"; it must be a time above zero with its unit`},
		"no unit in env":     {env: "ELECT_LEASE=15", want: `lease (from ELECT_LEASE): is "15"`},
		"no unit in flag":    {flag: []string{"lease", "15"}, want: `lease (from --lease): is "15"`},
		"negative":           {env: "ELECT_RETRY=-1s", want: `retry (from ELECT_RETRY): is "-1s"`},
		"no number":          {env: "ELECT_DRIFT=1%", want: "0.01 for 1 %"},
		"no truth":           {env: "ELECT_ONCE=maybe", want: "true or false"},
		"slip":               {env: "ELECT_LAESE=3s", want: "ELECT_LAESE (from the environment): there is no such setting: did you mean ELECT_LEASE?"},
		"their lease":        {env: "LEASE_TIME=5s", want: `lease (from LEASE_TIME): is "5s"; it must be a number of seconds`},
		"their port":         {env: "REDIS_PORT=redis", want: `store (from REDIS_PORT): is "redis"`},
		"their port of 0":    {env: "REDIS_PORT=0", want: `store (from REDIS_PORT): is "0"`},
		"their port beyond":  {env: "REDIS_PORT=65536", want: `store (from REDIS_PORT): is "65536"`},
		"a lease of months":  {env: "LEASE_TIME=10000000", want: `lease (from LEASE_TIME): is "10000000"`},
		"a lease of 0":       {env: "LEASE_TIME=0", want: `lease (from LEASE_TIME): is "0"`},
		"zero":               {env: "ELECT_RENEW=0s", want: `renew (from ELECT_RENEW): is "0s"`},
		"list in a list":     {file: "store: [redis://a, [redis://b]]\n", want: "store (from elect.yaml line 1): it is a list of texts"},
		"their host":         {env: "REDIS_HOST=redis://:" + secret + "@db", want: "belongs into ELECT_STORE"},
		"variable missing":   {env: "ELECT_STORE=redis://:${NOT_SET}@db", want: "store (from ELECT_STORE): the environment variable NOT_SET"},
		"no name":            {file: "lease: 3s\n", want: "no election is named"},
		"bad name":           {flag: []string{"name", "a b"}, want: "name (from --name): the name is \"a b\""},
		"relation":           {file: "name: x\nrenew: 6s\n", env: "ELECT_LEASE=5s", want: "renew (from elect.yaml line 2): is 6s and Lease is 5s; a lease must be renewed before it ends: Renew < Lease (lease is from ELECT_LEASE)"},
		"relation of three":  {file: "name: x\nrenew: 6s\nrequest_timeout: 5s\n", env: "ELECT_LEASE=10s", want: "request-timeout (from elect.yaml line 3): is 5s and Renew is 6s"},
		"drift":              {file: "name: x\ndrift: 1.5\n", want: "drift (from elect.yaml line 2): is 1.5"},
		"fraction of a ms":   {file: "name: x\nlease: 1.0005s\n", want: "whole milliseconds"},
		"unknown flag":       {flag: []string{"colour", "red"}, want: "colour"},
		"preset":             {env: "ELECT_PRESET=slow", file: "name: x\n", want: `preset (from ELECT_PRESET): is "slow"; it must be fast, balanced or quiet`},
		"against the preset": {env: "ELECT_PRESET=quiet", file: "name: x\nlease: 20s\n", want: "renew (from the preset quiet): is 30s and Lease is 20s; a lease must be renewed before it ends: Renew < Lease (lease is from elect.yaml line 2)"},
		"no whole number":    {env: "ELECT_PRIORITY=high", want: `priority (from ELECT_PRIORITY): is "high"`},
		"ID with a space":    {file: "name: x\n", env: "ELECT_ID=a b", want: "id (from ELECT_ID)"},
		"key without letter": {file: "42: x\n", want: "42 (from elect.yaml line 1)"},
	} {
		t.Run(name, func(t *testing.T) {
			from := Sources{Environ: []string{c.env}, File: write(t, c.file)}
			if c.flag != nil {
				from.Flags = map[string][]string{c.flag[0]: c.flag[1:]}
			}
			s, err := Load(from)
			if err == nil {
				err = s.Validate()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("it says %v, want %q", err, c.want)
			}
			if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "\n") {
				t.Errorf("it shows the password, or is more than one line: %v", err)
			}
		})
	}
}

// What does not suit the store is told with the places where both values stand.
func TestTimesThatDoNotSuitTheStore(t *testing.T) {
	s, err := Load(Sources{Environ: []string{"ELECT_CONFIRM=3s", "ELECT_STORE=redis://a?read_timeout=20s"}, File: write(t, "name: x\nreplicas: 1\nlease: 15s\n")})
	if err != nil {
		t.Fatal(err)
	}
	store, closer, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = closer.Close() }()
	_, err = elector.New(store, s.Config())
	err = s.Explain(err)
	for _, want := range []string{"request-timeout: is 2.5s and Options.Confirm of redisstore is 3s", "confirm is from ELECT_CONFIRM", "lease is from elect.yaml line 3"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to say %q", err, want)
		}
	}
}

// Several stores stand in one variable with spaces between, in a file as a
// list, and as several flags; of any other flag the last one counts.
func TestSeveralStores(t *testing.T) {
	for name, from := range map[string]Sources{
		"environment": {Environ: []string{"ELECT_STORE=redis://a redis://b  redis://c"}},
		"file":        {File: write(t, "store:\n  - redis://a\n  - redis://b\n  - redis://c\n")},
		"flags":       {Flags: map[string][]string{"store": {"redis://a", "redis://b", "redis://c"}}},
	} {
		if s, err := Load(from); err != nil || strings.Join(s.Store, ",") != "redis://a,redis://b,redis://c" {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
	if s, err := Load(Sources{Flags: map[string][]string{"lease": {"3s", "4s"}}}); err != nil || s.Lease != 4*time.Second {
		t.Errorf("a flag that is given twice: %v, %v", s, err)
	}
}

// A file that is not there is said with the ways to name another one; an empty
// one, and one of comments, is no mistake. The environment can name it.
func TestFile(t *testing.T) {
	if _, err := Load(Sources{File: filepath.Join(t.TempDir(), "none.yaml")}); err == nil || !strings.Contains(err.Error(), "--config or ELECT_CONFIG") {
		t.Errorf("no file: %v", err)
	}
	for _, content := range []string{"", "# nothing\n", "---\n", "lease:\n"} {
		if s, err := Load(Sources{File: write(t, content)}); err != nil || s.String() != "" {
			t.Errorf("%q: %v, %v", content, s, err)
		}
	}
	environ := []string{"ELECT_CONFIG=" + write(t, "store: [redis://a, redis://b]\nname: x\n")}
	s, err := Load(Sources{Environ: environ})
	if err != nil || len(s.Store) != 2 || s.Election != "x" {
		t.Errorf("%v, %v", s, err)
	}
	if s, err := Load(Sources{Environ: environ, File: write(t, "name: y\n")}); err != nil || s.Election != "y" || len(s.Store) > 0 {
		t.Errorf("a file that was named besides: %v, %v", s, err)
	}
	if s, err := Load(Sources{File: write(t, "lease: &d 15s\ndrain_timeout: *d\n")}); err != nil || s.DrainTimeout != 15*time.Second {
		t.Errorf("an alias: %v, %v", s, err)
	}
}

// Kubernetes sets these for services called "elect" and "redis"; they are no
// mistakes of anybody.
func TestServicesOfKubernetes(t *testing.T) {
	s, err := Load(Sources{Environ: []string{
		"ELECT_PORT=tcp://10.0.0.2:80", "ELECT_SERVICE_HOST=10.0.0.2", "ELECT_SERVICE_PORT=80", "ELECT_PORT_80_TCP_ADDR=10.0.0.2",
		"REDIS_PORT=tcp://10.0.0.1:6379", "REDIS_SERVICE_HOST=10.0.0.1",
	}})
	if err != nil || s.String() != "" {
		t.Errorf("%v, %v", s, err)
	}
}

// A password comes from the environment, escaped as a URL needs it, and is
// shown by no way of printing the settings, nor by an error about the URL.
func TestPasswords(t *testing.T) {
	odd := secret + "@/:?#%+ é"
	for _, url := range []string{"redis://app:${REDIS_PASSWORD}@db:6379/2", "${WHOLE_URL}"} {
		s, err := Load(Sources{
			Environ: []string{"REDIS_PASSWORD=" + odd, "WHOLE_URL=redis://:" + secret + "@db:6379/2"},
			Flags:   map[string][]string{"store": {url}, "name": {"x"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		want := odd
		if url == "${WHOLE_URL}" {
			want = secret
		}
		if o, err := redisstore.ParseURL(s.Store[0]); err != nil || o.Password != want {
			t.Errorf("%s: the password is not what the variable holds, %v", url, err)
		}
		store, closer, err := s.Open(t.Context())
		if err != nil || store == nil {
			t.Fatalf("%s: %v", url, err)
		}
		if err := closer.Close(); err != nil {
			t.Error(err)
		}
		for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
			text := fmt.Sprintf(format, s)
			if strings.Contains(text, secret) || !strings.Contains(text, "redis://…@db:6379/2") {
				t.Errorf("%s shows %s", format, text)
			}
		}
	}
	for _, url := range []string{
		"redis://:" + secret + "@host:notaport", "redis://:" + secret + "/x@host", "redis://:" + secret + "#x@host",
		"redis://host/0?password=" + secret, secret, "://" + secret + "@", "redis:" + secret,
		"postgres://u:" + secret + "/x@host/db", "postgres://host/db?pool_max_conns=" + secret,
		"postgres://host/db?pool_max_conns=x&password=a@" + secret,
	} {
		s := Settings{Election: "x", Store: []string{url}}
		_, _, err := s.Open(t.Context())
		if err == nil || strings.Contains(err.Error()+s.String()+fmt.Sprintf("%#v", &s), secret) {
			t.Errorf("%s: %v, %v", url, err, s)
		}
	}
}

// Open says which store is missing, or which cannot be used.
func TestOpenRefuses(t *testing.T) {
	for want, s := range map[string]Settings{
		"no store is named":     {},
		"names 2 stores":        {Store: []string{"redis://a", "redis://b"}},
		"is -1; it must be 0":   {Store: []string{"redis://a"}, Replicas: -1},
		"is -2; it must be 0":   {Store: []string{"redis://a"}, FsyncedReplicas: -2},
		"it must be 2s or more": {Store: []string{"redis://a"}, FsyncedReplicas: 1, Confirm: time.Second},
		"multiple of 1ms":       {Store: []string{"redis://a"}, Confirm: time.Microsecond},
		"with special":          {Store: []string{"postgres://:" + secret + "@a:b/c"}},
		"cannot be read":        {Store: []string{"redis://a", "redis://b", "://" + secret}},
		"table (":               {Store: []string{"postgres://a/b"}, Table: "1;", sources: map[string]string{"table": "x"}},
		"must begin with redis": {Store: []string{"etcd://a"}},
		"braces":                {Store: []string{"redis://a"}, Prefix: "{x}"},
	} {
		if _, _, err := s.Open(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", s, err, want)
		}
	}
}

// A URL chooses the store, and several make a quorum.
func TestOpen(t *testing.T) {
	for urls, want := range map[string]string{
		"rediss://:" + secret + "@a/1":                       "*redisstore.Store",
		"postgres://u:" + secret + "@127.0.0.1:1/db":         "*pgstore.Store",
		"postgresql://u:" + secret + "@127.0.0.1:1/db":       "*pgstore.Store",
		"postgres+session://u:" + secret + "@127.0.0.1:1/db": "*pgstore.SessionStore",
		"redis://a redis://b redis://c":                      "*quorumstore.Store",
	} {
		store, closer, err := Settings{Store: strings.Fields(urls)}.Open(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", want, err)
		}
		if got := fmt.Sprintf("%T", store); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if err := closer.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What the settings say about the servers of Redis reaches the store: an
// unprotected one grants at once, and one that is to wait for a replica waits
// for so long.
func TestOpenForReplicas(t *testing.T) {
	s, err := Load(Sources{
		Environ: []string{"ELECT_UNPROTECTED=true", "ELECT_CONFIRM=20ms", "ELECT_REPLICAS=1"},
		Flags:   map[string][]string{"store": {"redis://" + topology.Single(t).Addr}},
	})
	if err != nil {
		t.Fatal(err)
	}
	st, closer, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = closer.Close() }() // of no use any more
	_, err = st.Acquire(t.Context(), store.Attempt{Election: "x", ID: "me/1", Nonce: "n", Request: 1, TTL: time.Second})
	if !errors.Is(err, redisstore.ErrUnconfirmed) || !strings.Contains(err.Error(), "within 20ms") {
		t.Errorf("%v", err)
	}
}

// So do those about disks: a server that cannot tell is too old for them.
func TestOpenForDisks(t *testing.T) {
	url := "redis://" + topology.Single(t).Addr
	for _, s := range []Settings{{Fsynced: true}, {FsyncedReplicas: 1}} {
		s.Store, s.Unprotected = []string{url}, true
		st, closer, err := s.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = st.Acquire(t.Context(), store.Attempt{Election: "x", ID: "me/1", Nonce: "n", Request: 1, TTL: time.Second})
		var fatal *elector.FatalError
		if !errors.Is(err, redisstore.ErrUnconfirmed) && !(errors.As(err, &fatal) && strings.Contains(fatal.Fix, "7.2")) {
			t.Errorf("%v", err)
		}
		if err := closer.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Copies of Settings go their own ways: to validate one, with a preset, says
// nothing about where another's values come from.
func TestCopies(t *testing.T) {
	s, err := Load(Sources{Environ: []string{"ELECT_NAME=x"}})
	if err != nil {
		t.Fatal(err)
	}
	other := s
	other.Preset = "fast"
	if err := other.Validate(); err != nil || s.Source("lease") != "" {
		t.Errorf("the lease is said to be from %q, %v", s.Source("lease"), err)
	}
}

// A preset gives the durations that nobody else gives, and only those.
func TestPreset(t *testing.T) {
	s, err := Load(Sources{Environ: []string{"ELECT_PRESET=fast", "ELECT_RETRY=100ms", "REDIS_HOST=db", "LEADER_KEY=x"}})
	if err != nil || s.Validate() != nil {
		t.Fatal(err, s.Validate())
	}
	fast := elector.Fast()
	if s.Lease != fast.Lease || s.Renew != fast.Renew || s.RequestTimeout != fast.RequestTimeout || s.DrainTimeout != fast.DrainTimeout ||
		s.Retry != 100*time.Millisecond || s.Source("lease") != "the preset fast" {
		t.Errorf("%v", s)
	}
	if c := (Settings{Election: "x", Preset: "quiet"}).Config(); c.Lease != time.Minute {
		t.Errorf("settings without a source: %+v", c)
	}
}

// The three names of a setting are those that are documented.
func TestNames(t *testing.T) {
	if s := (Setting{Name: "request-timeout"}); s.Variable() != "ELECT_REQUEST_TIMEOUT" || s.Key() != "request_timeout" {
		t.Errorf("--%s is %s and %s", s.Name, s.Variable(), s.Key())
	}
}

// Each setting can be set from all three sources under names that follow from
// one another, and shows itself when it is set.
func TestEverySetting(t *testing.T) {
	values := map[Kind]string{Text: "fast", Duration: "5s", Number: "1", Truth: "true", Texts: "redis://db"}
	for _, setting := range All() {
		value := values[setting.Kind]
		for source, from := range map[string]Sources{
			"flag":        {Flags: map[string][]string{setting.Name: {value}}},
			"environment": {Environ: []string{setting.Variable() + "=" + value}},
			"file":        {File: write(t, setting.Key()+": "+value+"\n")},
		} {
			s, err := Load(from)
			if err != nil || !strings.Contains(s.String(), setting.Name+" ") || s.Source(setting.Name) == "" {
				t.Errorf("%s by %s: %v, %v", setting.Name, source, s, err)
			}
		}
		if setting.Usage == "" {
			t.Errorf("%s does not say what it is for", setting.Name)
		}
	}
}

// A reference to a file is what the file holds, less the end of its line, and
// escaped; one that cannot be read, or holds nothing, is a mistake.
func TestPasswordFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("s3/cret@ \r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	load := func(urls ...string) (Settings, error) {
		return Load(Sources{Flags: map[string][]string{"store": urls}, Environ: []string{"WORD=w"}})
	}
	s, err := load("redis://:${file:"+file+"}@a", "${file:"+file+"}", "redis://${WORD}:${file:"+file+"}@c")
	if want := []string{"redis://:s3%2Fcret%40%20@a", "s3/cret@ ", "redis://w:s3%2Fcret%40%20@c"}; err != nil || !slices.Equal(s.Store, want) {
		t.Errorf("%q, %v", s.Store, err)
	}
	if got, want := s.Variables(), []string{"ELECT_STORE", "WORD"}; !slices.Equal(got, want) {
		t.Errorf("variables %q, want %q", got, want)
	}
	if s, _ := load("postgres://u@h/db"); !slices.Equal(s.Variables(), []string{"ELECT_STORE", "PGPASSWORD"}) {
		t.Errorf("variables of PostgreSQL: %q", s.Variables())
	}
	if err := os.WriteFile(file, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{"redis://:${file:" + file + "}@a": "is empty", "redis://:${file:" + file + "x}@a": "cannot be read"} {
		if _, err := load(url); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "store (from --store)") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// A password in a URL is seen wherever it stands, and a reference is none.
func TestHoldsPassword(t *testing.T) {
	for url, want := range map[string]bool{
		"redis://a":          false,
		"redis://:${WORD}@a": false,
		"redis://me:${WORD}@a?master=m&sentinel_password=${WORD}": false,
		"redis://:x@a":                           true,
		"redis://:x${WORD}@a":                    true,
		"redis://:x@y@a":                         true,
		"redis://a?sentinel_password=x&master=m": true,
		"postgres://me@h/db?password=x":          true,
		"postgres://me@h/db":                     false,
		"${WORD}":                                false,
	} {
		s, err := Load(Sources{Flags: map[string][]string{"store": {url}}, Environ: []string{"WORD=w"}})
		if err != nil || s.HoldsPassword() != want {
			t.Errorf("%s: %v, %v", url, s.HoldsPassword(), err)
		}
	}
}

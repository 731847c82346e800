package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/loopback"
)

// Every reply of a server that cannot or will not serve is either passing, and
// comes back with what was attempted, or fatal, with what to do about it.
func TestReplies(t *testing.T) {
	transient := []string{
		"READONLY You can't write against a read only replica.",
		"READONLY You can't write against a read only replica. script: 0123, on @user_script:7.",
		"ERR Error running script (call to f_0123): @user_script:7: @user_script: 7: -READONLY You can't write against a read only replica.",
		"MOVED 3999 127.0.0.1:6381",
		"ASK 3999 127.0.0.1:6381",
		"CLUSTERDOWN Hash slot not served",
		"CLUSTERDOWN The cluster is down",
		"LOADING Redis is loading the dataset in memory",
		"TRYAGAIN Multiple keys request during rehashing of slot",
		"NOREPLICAS Not enough good replicas to write.",
		"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
		"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
		"OOM command not allowed when used memory > 'maxmemory'. script: 0123, on @user_script:7.",
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
		"ERR max number of clients reached",
		"ERR max daily request limit exceeded",
		"ERR request refused, too many pending request, now count 1001, beyond threshold 1000",
		"ERR Script attempted to access a non local key in a cluster node script: 0123, on @user_script:7.",
		"ERR something that nobody has heard of",
		"ERR a code is a word of its own: XNOPERM NOPERMISSION unNOAUTH ",
	}
	fatal := map[string]string{
		"CROSSSLOT Keys in request don't hash to the same slot":                                                    "prefix",
		"NOPERM this user has no permissions to run the 'evalsha' command":                                         "rights",
		"ERR Error running script (call to f_0123): @user_script:7: @user_script: 7: -NOPERM this user …":          "rights",
		"ERR ACL failure in script: User alice has no permissions to run the 'get' command script: 0123, on":       "rights",
		"ERR The user executing the script can't run this command or subcommand script: 0123, on @user_script:83.": "rights",
		"ERR Protocol error: unauthenticated multibulk length":                                                     "password",
		"ERR Protocol error: unauthenticated bulk length":                                                          "password",
		"WRONGTYPE Operation against a key holding the wrong kind of value":                                        "key",
		"ERR Error running script (call to f_0123): @user_script:7: WRONGTYPE Operation against a key":             "key",
		"NOAUTH Authentication required.":                                                                          "password",
		"WRONGPASS invalid username-password pair or user is disabled.":                                            "password",
		"ERR invalid password":                                                                    "password",
		"ERR Client sent AUTH, but no password is set":                                            "password",
		"DENIED Redis is running in protected mode because protected mode is enabled":             "password",
		"ERR unknown command 'EVALSHA', with args beginning with: ":                               "EVALSHA",
		"ERR unknown command 'WAITAOF', with args beginning with: '1' '0' '100' ":                 "7.2",
		"ERR unknown command `WAITAOF`, with args beginning with: `1`, `0`, `100`, ":              "7.2",
		"ERR unknown command `evalsha`, with args beginning with: ":                               "EVALSHA",
		"ERR Error running script: @user_script: 9: Unknown Redis command called from Lua script": "rename",
		"ERR Error running script (call to f_0123): @user_script:95: @user_script: 95: Write commands not allowed after non deterministic commands. Call redis.replicate_commands() at the start of your script": "lua-replicate-commands yes",
		"ERR DB index is out of range":                   "database",
		"ERR This instance has cluster support disabled": "cluster",
		"ERR bad lua script for redis cluster, all the keys that the script uses should be passed using the KEYS array": "script_check_enable",
		"ERR eval/evalsha command keys must be in same slot":                                                            "prefix",
		"ERR 'evalsha' command keys must in same slot":                                                                  "prefix",
		"ERR command eval not support for normal user":                                                                  "account",
		"ERR command 'evalsha' not support for your account":                                                            "account",
		"ERR auth permission deny":                                                                                      "account",
		"ERR client ip is not in whitelist":                                                                             "address",
		"ERR illegal address":                                                                                           "address",
		"unsupported command 'EVALSHA'":                                                                                 "proxy",
		"ERR handle request, command 'EVALSHA' is not allowed":                                                          "proxy",
		"ERR This instance has Lua scripting support disabled":                                                          "--lua-transaction-mode",
		"ERR This Redis command is not allowed from script script: 0123, on @user_script:7.":                            "scripts may use",
		"ERR This Valkey command is not allowed from script script: 0123, on @user_script:7.":                           "scripts may use",
		"ERR Error running script (call to f_0123): @user_script:7: @user_script: 7: This Redis command is not allowed from scripts": "scripts may use",
		"ERR Unknown command called from script script: 0123, on @user_script:7.":                                                    "rename",
		"ERR Error running script (call to 0123): @user_script:7: script tried accessing undeclared key":                             "undeclared",
		"ERR Script attempted to access nonexistent global variable 'unpack' script: 0123, on @user_script:7.":                       "Lua",
		"ERR Attempt to modify a readonly table script: 0123, on @user_script:7.":                                                    "Lua",
		"COUNTER the key recount:{billing}:token holds no decimal number":                                                            "token",
		"COUNTER the key k cannot be counted on: it would overflow":                                                                  "that key",
	}
	var says line
	f := startFake(t, says.answer)
	s := f.open(t, nil)
	for _, text := range transient {
		says.set("-" + text + "\r\n")
		for what, err := range calls(s) {
			var fatal *store.FatalError
			if errors.As(err, &fatal) || !isReply(err) || !strings.Contains(err.Error(), `billing`) || !strings.Contains(err.Error(), text) {
				t.Errorf("%s answered %q: %v, want a passing error that tells it", what, text, err)
			}
		}
	}
	for text, fix := range fatal {
		says.set("-" + text + "\r\n")
		for what, err := range calls(s) {
			var fatal *store.FatalError
			if !errors.As(err, &fatal) || !strings.Contains(fatal.Fix, fix) || !strings.Contains(err.Error(), text) {
				t.Errorf("%s answered %q: %v, want a FatalError whose fix has %q", what, text, err, fix)
			}
		}
	}
}

// calls makes one call of every kind.
func calls(s *Store) map[string]error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	a := attempt("n1", "a")
	_, acquire := s.Acquire(ctx, a)
	_, leader := s.Leader(ctx, "billing")
	_, drain := s.DrainAudit(ctx, "billing")
	return map[string]error{
		"acquire": acquire,
		"renew":   s.Renew(ctx, lease(a, 1)),
		"release": s.Release(ctx, lease(a, 1)),
		"leader":  leader,
		"retire":  s.Retire(ctx, "billing"),
		"drain":   drain,
		"watch":   watchEnd(ctx, s, "billing"),
	}
}

// A server that answers a TLS handshake in plain text will do so again.
func TestServerWithoutTLS(t *testing.T) {
	addr, err := loopback.Serve(t.Context(), func(conn net.Conn) {
		_, _ = conn.Write([]byte("-ERR what?\r\n")) // the client's finding is the test
		_ = conn.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	s := openAt(t, &redis.UniversalOptions{Addrs: []string{addr}, TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12}}, Options{})
	for what, err := range calls(s) {
		var fatal *store.FatalError
		if !errors.As(err, &fatal) || !strings.Contains(fatal.Fix, "without TLS") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A peer's refusal of the handshake stays; its trouble passes. Which of them
// arrives is up to TCP: a server that refuses may close so fast that its alert
// is lost, and then the broken connection is all there is to judge by.
func TestAlerts(t *testing.T) {
	for text, stays := range map[string]bool{
		"tls: certificate required": true, "tls: bad certificate": true, "tls: unknown certificate authority": true,
		"tls: handshake failure": true, "tls: protocol version not supported": true, "tls: access denied": true,
		"tls: internal error": false, "tls: user canceled": false,
	} {
		err := &net.OpError{Op: "remote error", Err: errors.New(text)}
		if fix := fixOf(err); (fix != "") != stays {
			t.Errorf("%s: fix %q", text, fix)
		}
	}
	if fix := fixOf(&net.OpError{Op: "read", Err: errors.New("certificate")}); fix != "" {
		t.Errorf("a read error: fix %q", fix)
	}
}

// A reply in a shape that the scripts never give is an error, never a panic
// and never taken for a grant; integers may come as strings.
func TestShapes(t *testing.T) {
	var says line
	f := startFake(t, says.answer)
	s := f.open(t, nil)
	odd := []string{
		okReply, number(5), number(-1), bulk("x"), bulk(""), "$-1\r\n", "*-1\r\n", array("*-1\r\n"), array("$-1\r\n", "$-1\r\n", "$-1\r\n"),
		array(number(1)), array(number(1), bulk("7")), array(number(1), bulk("7"), bulk("x")), array(number(1), bulk("7"), array()),
		array(bulk("x"), bulk("7"), number(0)),
		array(number(0), bulk("7"), bulk("n1"), number(5), number(0)), array(number(0), bulk("7"), number(4), number(5), number(0), number(0)),
		array(number(0), bulk("7"), bulk("n1"), bulk("x"), number(0), number(0)), array(number(0), bulk("7"), bulk("n1"), number(5), bulk("x"), number(0)),
		array(number(0), bulk("7"), bulk("n1"), number(5), number(0), bulk("x")), array(number(0), bulk("18446744073709551616"), bulk("n1"), number(5), number(0), number(0)),
		array(bulk("message"), number(1), array()), array(bulk("subscribe")), array(number(2), number(2), number(3), number(4)),
	}
	for _, text := range odd {
		says.set(text)
		for what, err := range calls(s) {
			var held *store.HeldError
			if err == nil || errors.Is(err, store.ErrNotHeld) || errors.As(err, &held) {
				t.Errorf("%s answered %q: %v", what, text, err)
			}
		}
	}
	ctx := t.Context()
	for _, text := range []string{
		array(number(1), bulk("x"), number(0), bulk(""), number(0)), array(number(1), bulk("0"), number(0), bulk(""), number(0)),
		array(number(1), bulk("-3"), number(0), bulk(""), number(0)), array(number(2), bulk("7"), number(0), bulk(""), number(0)),
	} {
		says.set(text)
		if g, err := s.Acquire(ctx, attempt("n1", "a")); err == nil {
			t.Errorf("acquire answered %q: %+v", text, g)
		}
	}
	says.set(array(bulk("1"), bulk("7"), bulk("2"), bulk(""), number(0)))
	if g, err := s.Acquire(ctx, attempt("n1", "a")); err != nil || g != (store.Grant{Token: 7, Waiters: 2}) {
		t.Errorf("a grant in strings: %+v, %v", g, err)
	}
	says.set(array(bulk("0"), number(7), bulk("n2"), bulk("1500"), bulk("3"), bulk("1"), bulk("9000")))
	var held *store.HeldError
	if _, err := s.Acquire(ctx, attempt("n1", "a")); !errors.As(err, &held) || held.Token != 7 || held.Remaining != 1500*time.Millisecond || held.Waiters != 3 || held.Longest != 9*time.Second || held.Repaired == "" {
		t.Errorf("a refusal in strings: %+v", held)
	}
	says.set(bulk("1"))
	if err := s.Renew(ctx, lease(attempt("n1", "a"), 7)); err != nil {
		t.Errorf("renewed, as a string: %v", err)
	}
	says.set(bulk("0"))
	if err := s.Renew(ctx, lease(attempt("n1", "a"), 7)); !errors.Is(err, store.ErrNotHeld) {
		t.Errorf("not renewed, as a string: %v", err)
	}
}

// A request is sent once: not again on an error, a broken connection or a
// time-out, whatever go-redis would like. Only NOSCRIPT, which executes
// nothing, is followed by the script itself.
func TestNothingIsRepeated(t *testing.T) {
	for name, reply := range map[string]string{
		"broken": closing, "silent": silence, "loading": "-LOADING Redis is loading the dataset in memory\r\n",
		"read-only": "-READONLY You can't write against a read only replica.\r\n",
	} {
		for _, cluster := range []bool{false, true} {
			t.Run(name+map[bool]string{false: "/single", true: "/cluster"}[cluster], func(t *testing.T) {
				var f *fake
				f = startFake(t, func(args []string) string {
					if strings.EqualFold(args[0], "cluster") {
						return slots(f.addr)
					}
					return reply
				})
				s := f.open(t, func(o *redis.UniversalOptions) { o.IsClusterMode, o.ReadTimeout = cluster, 50*time.Millisecond })
				_, err := s.Acquire(t.Context(), attempt("n1", "a"))
				var fatal *store.FatalError
				if err == nil || errors.As(err, &fatal) {
					t.Errorf("acquire: %v", err)
				}
				if n := f.count("evalsha") + f.count("eval"); n != 1 {
					t.Errorf("the request was sent %d times", n)
				}
			})
		}
	}
	f := startFake(t, func(args []string) string {
		if strings.EqualFold(args[0], "evalsha") {
			return "-NOSCRIPT No matching script. Please use EVAL.\r\n"
		}
		return number(1)
	})
	if err := f.open(t, nil).Renew(t.Context(), lease(attempt("n1", "a"), 1)); err != nil || f.count("eval") != 1 {
		t.Errorf("after NOSCRIPT: %v, %d times EVAL", err, f.count("eval"))
	}
}

// slots is the answer of a cluster of one node to CLUSTER SLOTS.
func slots(addr string) string {
	host, port, _ := strings.Cut(addr, ":")
	n := 0
	for _, digit := range port {
		n = 10*n + int(digit-'0')
	}
	return array(array(number(0), number(16383), array(bulk(host), number(n), bulk("id"))))
}

// A cluster's redirection is followed: the node that gave it has done nothing.
func TestRedirectionIsFollowed(t *testing.T) {
	for _, word := range []string{"MOVED", "ASK"} {
		good := startFake(t, func(args []string) string {
			if strings.EqualFold(args[0], "asking") {
				return okReply
			}
			return array(number(1), bulk("7"), number(0), bulk(""), number(0))
		})
		var f *fake
		f = startFake(t, func(args []string) string {
			if strings.EqualFold(args[0], "cluster") {
				return slots(f.addr)
			}
			return "-" + word + " 3999 " + good.addr + "\r\n"
		})
		s := f.open(t, func(o *redis.UniversalOptions) { o.IsClusterMode = true })
		if g, err := s.Acquire(t.Context(), attempt("n1", "a")); err != nil || g.Token != 7 {
			t.Errorf("%s: %+v, %v", word, g, err)
		}
		if n := f.count("evalsha"); n != 1 {
			t.Errorf("%s: asked the first node %d times", word, n)
		}
	}
}

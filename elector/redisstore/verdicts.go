package redisstore

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/store"
)

// remedy says how to recognise a reply that no repetition will change, and
// what to do about it.
type remedy struct {
	text   string
	fix    string
	access bool // it is about who may do what: what was allowed before may be again
}

// slotOpen says what it means that a cluster's node has only some of an election's keys.
const slotOpen = `the cluster moves the election's slot to another node (resharding), and has done so with some of its keys only; until that is finished a leader goes on, and nobody new is elected: if it was interrupted, finish it with "redis-cli --cluster fix HOST:PORT"`

// replicateFix is what to do about a server that refuses writes after TIME.
const replicateFix = `set "lua-replicate-commands yes", which is the default, or use Redis 7 or newer`

// What several replies ask for.
const (
	slotsFix   = "use an empty prefix or one without braces, and no proxy that renames keys"
	accountFix = "give the account the rights that package redisstore lists"
	addressFix = "allow the address that this program connects from"
	proxyFix   = "use a proxy that forwards EVALSHA and EVAL, or connect to the server without it"
	luaFix     = "use a server with Lua scripts as Redis has them"
)

// remedies are the texts of replies that stay. All others pass: those of a
// failover, a start, a move of slots or an operator's work (READONLY, MOVED,
// ASK, CLUSTERDOWN, LOADING, TRYAGAIN, NOREPLICAS, BUSY, MISCONF, OOM,
// MASTERDOWN), and those that nobody has heard of. They are looked for anywhere
// in the text, because before version 7 Redis wraps the error of a command in
// a script ("ERR Error running script (…): … -NOPERM this user …").
var remedies = [...]remedy{
	{"COUNTER ", "delete that key, or set it to the highest token that the protected resource has seen", false},
	{"CROSSSLOT ", slotsFix, false},
	{"keys must be in same slot", slotsFix, false}, // Alibaba's proxies
	{"keys must in same slot", slotsFix, false},
	{"keys that do not hash to the same slot", slotsFix, false},
	{"tried accessing undeclared key", "use a server that takes the keys that a script is given for declared ones, or allow undeclared keys (--default_lua_flags=allow-undeclared-keys of Dragonfly)", false},
	{"bad lua script for redis cluster", "let the proxy not check scripts (script_check_enable 0), upgrade it, or connect to the server without it: the scripts keep their keys in variables", false},
	{"NOPERM ", "give the Redis user the rights that package redisstore lists", true},
	{"The user executing the script can't", "give the Redis user the rights that package redisstore lists", true},
	{"ACL failure in script", "give the Redis user the rights that package redisstore lists", true},
	{"WRONGTYPE ", "delete the key, or use another prefix: something else keeps its data under the election's keys", false},
	{"NOAUTH ", "give the password", true},
	{"unauthenticated multibulk length", "give the password", true}, // more arguments than a client without a password may send
	{"unauthenticated bulk length", "give the password", true},
	{"WRONGPASS ", "correct the user name and password", true},
	{"invalid password", "correct the password", true},
	{"Client sent AUTH, but no password is set", "leave the password out", true},
	{"without any password configured for the default user", "leave the password out, or give the user name too", true},
	{"DENIED ", "set a password on the server, or connect from the same machine", true},
	{"unknown command 'WAITAOF'", fsyncedFix, false},
	{"unknown command `WAITAOF`", fsyncedFix, false},
	{"not support for normal user", accountFix, true},
	{"not support for your account", accountFix, true},
	{"auth permission deny", accountFix, true},
	{"client ip is not in whitelist", addressFix, true},
	{"illegal address", addressFix, true},
	{"unknown command", "use a server that supports EVALSHA and EVAL, and does not rename or disable them", false},
	{"unsupported command", proxyFix, false},       // Envoy before it said "unknown"
	{"handle request, command '", proxyFix, false}, // Codis
	{"Lua scripting support disabled", "start the server with scripts switched on, and with one script at a time (--lua and --lua-transaction-mode of Garnet)", false},
	{"Unknown Redis command called from", "use a server that does not rename or disable the commands that package redisstore lists", false},
	{"Unknown command called from", "use a server that does not rename or disable the commands that package redisstore lists", false},
	{"command is not allowed from script", "use a server whose scripts may use the commands that package redisstore lists", false},
	{"Write commands not allowed after non deterministic commands", replicateFix, false},
	{"Error compiling script", luaFix, false},
	{"attempted to access nonexistent global variable", luaFix, false},
	{"Attempt to modify a readonly table", luaFix, false},
	{"DB index is out of range", "choose a database number below the server's setting \"databases\"", false},
	{"invalid DB index", "choose a database number of 0 or more", false},
	{"SELECT is not allowed in cluster mode", "use database 0: a cluster has no other", false},
	{"cluster support disabled", "connect without cluster mode: give one address", false},
}

// slotWords are the words for keys that lie in several slots, or that a script may not
// use because of where they lie. The last three also have other causes: a script that the
// server cannot follow, or a slot that moves.
var slotWords = [...]string{
	"CROSSSLOT ",
	"keys must be in same slot",
	"keys must in same slot",
	"keys that do not hash to the same slot",
	"tried accessing undeclared key",
	"bad lua script for redis cluster",
	"attempted to access a non local key",
}

// crossSlot reports whether the server refused keys that lie in several slots.
func crossSlot(err error) bool {
	return isReply(err) && slices.ContainsFunc(slotWords[:], func(words string) bool { return hasCode(err.Error(), words) })
}

// isReply reports whether the error came from the server, as opposed to from the
// way to it.
func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// judge says what err means for the caller: a *elector.FatalError if no repetition will
// change it, else an error that says what was attempted. The outcome of the call is then
// unknown.
func (s *Store) judge(call, election string, err error) error {
	if fixOf(err) != "" {
		if name := s.asked(call, err); name != "" {
			err = fmt.Errorf("%w (the script asked for %s)", err, name)
		}
	}
	return judge(call, election, err, s.served.Load())
}

// judge is Store.judge. A store that has served goes on trying if it is not let in any
// more: a password changes on the server first, and rights are withdrawn and given back.
func judge(call, election string, err error, served bool) error {
	if fatal := new(store.FatalError); errors.As(err, &fatal) {
		return &store.FatalError{Err: fmt.Errorf("redisstore: %s %q: %w", call, election, fatal.Err), Fix: fatal.Fix}
	}
	wrapped := fmt.Errorf("redisstore: %s %q: %w", call, election, err)
	if hasCode(err.Error(), "TRYAGAIN ") {
		wrapped = fmt.Errorf("%w: %s", wrapped, slotOpen)
	}
	if hint := overload(err); hint != "" {
		wrapped = fmt.Errorf("%w: %s", wrapped, hint)
	}
	switch r := remedyOf(err); {
	case r.fix == "":
	case r.access && served:
		wrapped = fmt.Errorf("%w (this went well before, and is tried again: %s)", wrapped, r.fix)
	default:
		return &store.FatalError{Err: wrapped, Fix: r.fix}
	}
	if isReply(err) || errors.Is(err, ErrUnconfirmed) {
		return refusal{wrapped}
	}
	return wrapped
}

// refusal is an error that is the server's own answer. See [store.Store].
type refusal struct{ error }

// Answered reports that the server has answered.
func (refusal) Answered() bool { return true }

// Unwrap returns the error without that.
func (r refusal) Unwrap() error { return r.error }

// fixOf is what to do about an error that stays; empty for one that may pass.
func fixOf(err error) string { return remedyOf(err).fix }

// remedyOf is what to do about an error that stays; without a fix for one that may pass.
func remedyOf(err error) remedy {
	var fatal *store.FatalError
	if errors.As(err, &fatal) {
		return remedy{fix: fatal.Fix}
	}
	var reply redis.Error
	if errors.As(err, &reply) {
		return replyRemedy(reply.Error())
	}
	// Before version 9.18 go-redis kept nothing of the Sentinels' replies but
	// their text.
	if _, said, is := strings.Cut(err.Error(), "all sentinels specified in configuration are unreachable: "); is {
		return replyRemedy(strings.ReplaceAll(said, "\n", " "))
	}
	return remedy{fix: handshakeFix(err), access: true}
}

func replyRemedy(text string) remedy {
	for _, r := range remedies {
		if hasCode(text, r.text) {
			return r
		}
	}
	return remedy{}
}

// hasCode reports whether the text contains the code as words of their own.
func hasCode(text, code string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], code)
		if i < 0 {
			return false
		}
		if i += from; i == 0 || strings.IndexByte(" -:'", text[i-1]) >= 0 {
			return true
		}
		from = i + 1
	}
}

// handshakeFix knows the failures of a TLS handshake that will fail again.
func handshakeFix(err error) string {
	var (
		verification *tls.CertificateVerificationError
		authority    x509.UnknownAuthorityError
		hostname     x509.HostnameError
		invalid      x509.CertificateInvalidError
		header       tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &hostname):
		return "connect by a name that the server's certificate has, or set TLSConfig.ServerName"
	case errors.As(err, &authority):
		return "add the authority that signed the server's certificate to TLSConfig.RootCAs"
	case errors.As(err, &verification), errors.As(err, &invalid):
		return "renew or correct the server's certificate"
	case errors.As(err, &header):
		return "connect without TLS (redis://), or to the server's TLS port"
	case refused(err):
		return "give the client certificate and TLS version that the server asks for"
	default:
		return ""
	}
}

// refusals are words of TLS alerts that say that the peer will not have us
// (RFC 8446, section 6); others, such as "internal error", may pass.
var refusals = [...]string{
	"certificate", "handshake failure", "access denied", "protocol version", "insufficient security", "unrecognized name",
}

// refused reports whether the peer ended the handshake with such an alert. The
// alert's type is not exported where TLS runs over a connection.
func refused(err error) bool {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "remote error" {
		return false
	}
	for _, words := range refusals {
		if strings.Contains(op.Err.Error(), words) {
			return true
		}
	}
	return false
}

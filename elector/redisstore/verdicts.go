package redisstore

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
)

// remedy says how to recognise a reply that no repetition will change, and
// what to do about it.
type remedy struct {
	text string
	fix  string
}

// slotOpen says what it means that a cluster's node has only some of an election's keys.
const slotOpen = `the cluster moves the election's slot to another node (resharding), and has done so with some of its keys only; until that is finished a leader goes on, and nobody new is elected: if it was interrupted, finish it with "redis-cli --cluster fix HOST:PORT"`

// replicateFix is what to do about a server that refuses writes after TIME.
const replicateFix = `set "lua-replicate-commands yes", which is the default, or use Redis 7 or newer`

// remedies are the texts of replies that stay. All others pass: those of a
// failover, a start, a move of slots or an operator's work (READONLY, MOVED,
// ASK, CLUSTERDOWN, LOADING, TRYAGAIN, NOREPLICAS, BUSY, MISCONF, OOM,
// MASTERDOWN), and those that nobody has heard of. They are looked for anywhere
// in the text, because before version 7 Redis wraps the error of a command in
// a script ("ERR Error running script (…): … -NOPERM this user …").
var remedies = [...]remedy{
	{"COUNTER ", "delete that key, or set it to the highest token that the protected resource has seen"},
	{"CROSSSLOT ", "use an empty prefix or one without braces, and no proxy that renames keys"},
	{"NOPERM ", "give the Redis user the rights that package redisstore lists"},
	{"The user executing the script can't", "give the Redis user the rights that package redisstore lists"},
	{"ACL failure in script", "give the Redis user the rights that package redisstore lists"},
	{"WRONGTYPE ", "delete the key, or use another prefix: something else keeps its data under the election's keys"},
	{"NOAUTH ", "give the password"},
	{"unauthenticated multibulk length", "give the password"}, // more arguments than a stranger may send
	{"unauthenticated bulk length", "give the password"},
	{"WRONGPASS ", "correct the user name and password"},
	{"invalid password", "correct the password"},
	{"Client sent AUTH, but no password is set", "leave the password out"},
	{"without any password configured for the default user", "leave the password out, or give the user name too"},
	{"DENIED ", "set a password on the server, or connect from the same machine"},
	{"unknown command 'WAITAOF'", fsyncedFix},
	{"unknown command `WAITAOF`", fsyncedFix},
	{"unknown command", "use a server that supports EVALSHA and EVAL, and does not rename or disable them"},
	{"Unknown Redis command called from", "use a server that does not rename or disable the commands that package redisstore lists"},
	{"Write commands not allowed after non deterministic commands", replicateFix},
	{"Error compiling script", "use a server with Lua scripts as Redis has them"},
	{"DB index is out of range", "choose a database number below the server's setting \"databases\""},
	{"invalid DB index", "choose a database number of 0 or more"},
	{"SELECT is not allowed in cluster mode", "use database 0: a cluster has no other"},
	{"cluster support disabled", "connect without cluster mode: give one address"},
}

// crossSlot tells whether a cluster's node refused keys that lie in several slots.
func crossSlot(err error) bool { return isReply(err) && hasCode(err.Error(), "CROSSSLOT ") }

// isReply tells whether the error came from the server, as opposed to from the
// way to it.
func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// judge says what err means for the caller: a *elector.FatalError if no
// repetition will change it, else an error that says what was attempted. The
// outcome of the call is then unknown.
func judge(call, election string, err error) error {
	wrapped := fmt.Errorf("redisstore: %s %q: %w", call, election, err)
	if hasCode(err.Error(), "TRYAGAIN ") {
		wrapped = fmt.Errorf("%w: %s", wrapped, slotOpen)
	}
	if fix := fixOf(err); fix != "" {
		return &elector.FatalError{Err: wrapped, Fix: fix}
	}
	return wrapped
}

// fixOf is what to do about an error that stays; empty for one that may pass.
func fixOf(err error) string {
	var fatal *elector.FatalError
	if errors.As(err, &fatal) {
		return fatal.Fix
	}
	var reply redis.Error
	if errors.As(err, &reply) {
		return replyFix(reply.Error())
	}
	// Before version 9.18 go-redis kept nothing of the Sentinels' replies but
	// their text.
	if _, said, is := strings.Cut(err.Error(), "all sentinels specified in configuration are unreachable: "); is {
		return replyFix(strings.ReplaceAll(said, "\n", " "))
	}
	return handshakeFix(err)
}

func replyFix(text string) string {
	for _, r := range remedies {
		if hasCode(text, r.text) {
			return r.fix
		}
	}
	return ""
}

// hasCode tells whether the text contains the code as words of their own.
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

// refused tells whether the peer ended the handshake with such an alert. The
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

package inspection

import (
	"slices"
	"strings"
)

// DefaultPrefix is that of the keys of runs unless another is given.
const DefaultPrefix = "recount:"

// command is one that a run sends, and a harmless use of it.
type command struct {
	right string   // as ACL SETUSER takes it, without the plus
	try   []string // KEY and REGISTER are replaced; nil: tried apart, or it cannot be tried
	own   bool     // only for faults on the server itself
	clean bool     // also for chaos clean
}

// needed reports whether who needs that needs the command.
func (c command) needed(n Need) bool {
	return (n.Own || !c.own) && (c.clean || !n.Clean)
}

// commands are all that the harness and the electors inside it send, in such an order
// that each finds the key as it needs it: a number that ends by itself. A command for
// hashes or lists is refused because of the key's type, which is after the rights were
// looked at, and changes nothing. AUTH, HELLO and QUIT take no right.
var commands = []command{
	{right: "info", clean: true}, // the first one
	{right: "select", clean: true},
	{right: "ping", try: []string{"PING"}, clean: true},
	{right: "set", try: []string{"SET", "KEY", "0", "PX", "10000"}},
	{right: "get", try: []string{"GET", "KEY"}},
	{right: "exists", try: []string{"EXISTS", "KEY"}},
	{right: "setex", try: []string{"SETEX", "KEY", "10", "0"}},
	{right: "psetex", try: []string{"PSETEX", "KEY", "10000", "0"}},
	{right: "expire", try: []string{"EXPIRE", "KEY", "10"}},
	{right: "pexpire", try: []string{"PEXPIRE", "KEY", "10000"}},
	{right: "pttl", try: []string{"PTTL", "KEY"}, clean: true},
	{right: "time", try: []string{"TIME"}},
	{right: "hset", try: []string{"HSET", "KEY", "history", ""}},
	{right: "hget", try: []string{"HGET", "KEY", "history"}},
	{right: "hmget", try: []string{"HMGET", "KEY", "history"}},
	{right: "hgetall", try: []string{"HGETALL", "REGISTER"}, clean: true},
	{right: "hdel", try: []string{"HDEL", "KEY", "history"}, clean: true},
	{right: "hlen", try: []string{"HLEN", "KEY"}},
	{right: "lpush", try: []string{"LPUSH", "KEY", ""}},
	{right: "rpush", try: []string{"RPUSH", "KEY", ""}},
	{right: "lrange", try: []string{"LRANGE", "KEY", "0", "0"}},
	{right: "ltrim", try: []string{"LTRIM", "KEY", "0", "0"}},
	{right: "eval", try: []string{"EVAL", "return 1", "1", "KEY"}},
	{right: "evalsha", try: []string{"EVALSHA", strings.Repeat("0", 40), "1", "KEY"}},
	{right: "publish", try: []string{"PUBLISH", "KEY", ""}},
	{right: "pubsub|numsub", try: []string{"PUBSUB", "NUMSUB", "KEY"}},
	{right: "subscribe"},
	{right: "unsubscribe"},
	{right: "config|get", try: []string{"CONFIG", "GET", "maxmemory"}, own: true},
	{right: "config|set", try: []string{"CONFIG", "SET", "recount-no-such-setting", ""}, own: true},
	{right: "script|load", try: []string{"SCRIPT", "LOAD", "return 'witness'"}, own: true},
	{right: "script|exists", try: []string{"SCRIPT", "EXISTS", strings.Repeat("0", 40)}, own: true},
	{right: "script|flush", try: []string{"SCRIPT", "FLUSH", "recount-no-such-mode"}, own: true},
	{right: "keys", own: true}, // trying it costs what it costs
	// The last two leave nothing behind, whichever of the others was allowed.
	{right: "pexpireat", try: []string{"PEXPIREAT", "KEY", "1"}},
	{right: "del", try: []string{"DEL", "KEY"}, clean: true},
}

// Rule is the line that gives a user what a run needs, and nothing else: one that there
// is loses all that it had. PASSWORD stands for the password. With own it may have
// every key, since faults on the server itself hit them.
func Rule(user, prefix string, own bool) string {
	pattern := globEscaper.Replace(prefix) + RunMark + "*"
	keys := []string{"~" + pattern}
	if own {
		keys = []string{"~*"}
	}
	words := slices.Concat([]string{"ACL", "SETUSER", user, "reset", "on", ">PASSWORD"}, keys, []string{"&" + pattern})
	for _, c := range commands {
		if c.needed(Need{Own: own}) {
			words = append(words, "+"+c.right)
		}
	}
	return strings.Join(words, " ")
}

// Escape makes a text that patterns of Redis take literally.
func Escape(text string) string { return globEscaper.Replace(text) }

var globEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)

package wire

import "strings"

// keysOf are the places of the keys among a command's arguments, as far as it
// is one that may be about a lock. Scripts are not: see scriptTraces.
func keysOf(cmd command) []int {
	n := len(cmd.args)
	switch {
	case n < 2 || keyless[cmd.name]:
		return nil
	case cmd.name == "MSET" || cmd.name == "MSETNX":
		return every(1, n, 2)
	case severalKeys[cmd.name]:
		return every(1, n, 1)
	case twoKeys[cmd.name]:
		return every(1, min(n, 3), 1)
	case cmd.name == "OBJECT" || cmd.name == "MEMORY":
		return every(2, min(n, 3), 1)
	default:
		return []int{1}
	}
}

func every(from, to, by int) []int {
	var list []int
	for i := from; i < to; i += by {
		list = append(list, i)
	}
	return list
}

var severalKeys = map[string]bool{"DEL": true, "UNLINK": true, "EXISTS": true, "TOUCH": true, "MGET": true, "WATCH": true}

var twoKeys = map[string]bool{"RENAME": true, "RENAMENX": true, "COPY": true, "LCS": true, "SMOVE": true, "LMOVE": true, "RPOPLPUSH": true}

// keyless are commands whose first argument is no key.
var keyless = map[string]bool{
	"AUTH": true, "HELLO": true, "PING": true, "ECHO": true, "SELECT": true, "CLIENT": true, "CONFIG": true, "INFO": true, "PUBLISH": true,
	"SPUBLISH": true, "SUBSCRIBE": true, "PSUBSCRIBE": true, "SSUBSCRIBE": true, "UNSUBSCRIBE": true, "PUNSUBSCRIBE": true, "SUNSUBSCRIBE": true,
	"SCRIPT": true, "FUNCTION": true, "COMMAND": true, "CLUSTER": true, "WAIT": true, "WAITAOF": true, "KEYS": true, "SCAN": true, "DEBUG": true,
	"PUBSUB": true, "SLOWLOG": true, "LATENCY": true, "ACL": true, "MODULE": true, "FAILOVER": true, "REPLICAOF": true, "SLAVEOF": true,
	"FLUSHALL": true, "FLUSHDB": true, "SWAPDB": true, "RESET": true, "QUIT": true, "EVAL": true, "EVALSHA": true, "EVAL_RO": true, "EVALSHA_RO": true,
	"FCALL": true, "FCALL_RO": true,
}

// reads reports whether a command certainly changes nothing.
func reads(cmd command) bool {
	switch cmd.name {
	case "GETEX":
		return len(cmd.args) == 2
	case "SORT", "GEORADIUS", "GEORADIUSBYMEMBER", "XREADGROUP":
		return false
	default:
		return readOnly[cmd.name] || looks[cmd.name] || strings.HasSuffix(cmd.name, "_RO")
	}
}

// writes tells of the keys that a command may write to.
func (l *Lock) writes(cmd command) {
	if l.options.Written == nil || cmd.cut || reads(cmd) {
		return
	}
	for _, key := range l.keys(cmd) {
		l.options.Written(cmd.db, key)
	}
}

// looks are the commands, besides those of readOnly, that change nothing.
var looks = map[string]bool{
	"GET": true, "MGET": true, "GETRANGE": true, "EXISTS": true, "TOUCH": true, "TTL": true, "PTTL": true, "EXPIRETIME": true, "PEXPIRETIME": true,
	"HGET": true, "HEXISTS": true, "HLEN": true, "STRLEN": true, "TYPE": true, "HKEYS": true, "HVALS": true, "HSTRLEN": true, "HSCAN": true, "HRANDFIELD": true, "LRANGE": true, "LLEN": true,
	"LINDEX": true, "LPOS": true, "SCARD": true, "SISMEMBER": true, "SMISMEMBER": true, "SMEMBERS": true, "SRANDMEMBER": true, "SSCAN": true,
	"ZCARD": true, "ZCOUNT": true, "ZRANGE": true, "ZRANGEBYSCORE": true, "ZRANGEBYLEX": true, "ZREVRANGE": true, "ZREVRANGEBYSCORE": true, "ZRANK": true,
	"ZREVRANK": true, "ZSCORE": true, "ZMSCORE": true, "ZLEXCOUNT": true, "ZSCAN": true, "ZRANDMEMBER": true, "XLEN": true, "XRANGE": true,
	"XREVRANGE": true, "XREAD": true, "XINFO": true, "XPENDING": true, "BITCOUNT": true, "BITPOS": true, "HTTL": true, "HPTTL": true,
}

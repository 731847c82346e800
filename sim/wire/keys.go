package wire

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

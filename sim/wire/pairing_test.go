package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/recount-io/recount/history"
)

// Each reply goes to its command, whatever comes in between that answers none:
// seen by what becomes of the operations.
func TestPairing(t *testing.T) {
	const set, got = "SET lock a NX PX 1000\n", "acquire ok"
	for _, test := range []struct{ name, sent, received, want string }{
		{"pipelined", "PING\n" + set + "DEL lock\n", "+PONG\r\n+OK\r\n:1\r\n", got + "; release ok"},
		{"a push in between", set, ">2\r\n+invalidate\r\n*1\r\n+x\r\n+OK\r\n", got},
		{"subscribed in RESP2", "SUBSCRIBE a b\nPING\nUNSUBSCRIBE\n" + set, "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n" +
			"*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$2\r\n:1\r\n*2\r\n$4\r\npong\r\n$0\r\n\r\n*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:1\r\n*3\r\n$11\r\nunsubscribe\r\n$1\r\nb\r\n:0\r\n+OK\r\n", got},
		{"subscribed in RESP3", "HELLO 3\nSUBSCRIBE a b\n" + set, "%1\r\n+server\r\n+redis\r\n>3\r\n+subscribe\r\n+a\r\n:1\r\n>3\r\n+message\r\n+a\r\n+x\r\n>3\r\n+subscribe\r\n+b\r\n:2\r\n+OK\r\n", got},
		{"nothing to unsubscribe from", "UNSUBSCRIBE\n" + set, "*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n+OK\r\n", got},
		{"no replies", "CLIENT REPLY OFF\n" + set + "CLIENT REPLY ON\nDEL lock\n", "+OK\r\n:1\r\n", "acquire info; release info"}, // not known to be free before
		{"one reply left out", "CLIENT REPLY SKIP\nDEL lock\n" + set, "+OK\r\n", "release info; " + got},
		{"no replies until a reset", "CLIENT REPLY OFF\nRESET\n" + set, "+RESET\r\n+OK\r\n", got},
		{"monitoring", "MONITOR\nRESET\n" + set, "+OK\r\n+1.234567 [0 127.0.0.1:1] \"get\" \"x\"\r\n+RESET\r\n+OK\r\n", got},
		{"a transaction", "MULTI\nSETNX lock a\nPING\nEXPIRE lock 1\nEXEC\n", "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n:1\r\n+PONG\r\n:1\r\n", "renew fail the command did something else; " + got},
		{"a transaction that prolongs what it did not get", set + "MULTI\nSETNX lock a\nEXPIRE lock 1\nEXEC\n", "+OK\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:0\r\n:1\r\n", got + "; renew ok; acquire fail"},
		{"an aborted transaction", "WATCH lock\nMULTI\nDEL lock\nEXEC\n", "+OK\r\n+OK\r\n+QUEUED\r\n*-1\r\n", "release fail the transaction was aborted"},
		{"a refused transaction", "MULTI\nDEL lock\nEXEC\n", "+OK\r\n-ERR x\r\n-EXECABORT x\r\n", "release fail the store answered with an error: EXECABORT x"},
		{"a discarded transaction", "MULTI\nDEL lock\nDISCARD\n" + set, "+OK\r\n+QUEUED\r\n+OK\r\n+OK\r\n", got},
		{"another database", set + "SELECT 1\nDEL lock\nSELECT 0\nDEL lock\n", "+OK\r\n+OK\r\n:0\r\n+OK\r\n:1\r\n", got + "; release ok"},
		{"a database that is not there", set + "SELECT 99\n", "+OK\r\n-ERR DB index is out of range\r\n", got},
		{"no reply", set, "", "acquire info the connection ended"},
	} {
		var seen []string
		var op int64
		conn := NewLock(Options{Key: "lock"}).Conn("n1", func(e history.Event) {
			if e.Kind == history.Ok || e.Kind == history.Fail || e.Kind == history.Info {
				text := strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Call, e.Kind, e.Error))
				text = strings.TrimSuffix(strings.TrimSuffix(text, " no reply was asked for"), " "+older)
				seen = append(seen, text)
			}
		}, func() int64 { op++; return op })
		r := &reader{note: func(text string) { t.Errorf("%s: %s", test.name, text) }, pairs: pairing{conn: conn}}
		r.requests.emit, r.replies.emit = r.pairs.request, r.pairs.reply
		r.sent([]byte(test.sent))
		r.received([]byte(test.received))
		r.end()
		if text := strings.Join(seen, "; "); text != test.want {
			t.Errorf("%s: %s, want %s", test.name, text, test.want)
		}
	}
}

package wire

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/recount-io/recount/history"
)

// parsed is what a decoder makes of the bytes, in pieces of so many.
func parsed(data []byte, size int, feed func([]byte) error) error {
	for piece := range slices.Chunk(data, size) {
		if err := feed(piece); err != nil {
			return err
		}
	}
	return nil
}

func parseRequests(data []byte, size int) (out []string, err error) {
	r := requests{emit: func(r request) error {
		out = append(out, fmt.Sprintf("%q %v", r.args, r.cut))
		return nil
	}}
	err = parsed(data, size, r.feed)
	return out, err
}

func parseReplies(data []byte, size int) (out []string, err error) {
	r := replies{emit: func(v Value) error {
		out = append(out, fmt.Sprintf("%d %v", v.Kind, v))
		return nil
	}}
	err = parsed(data, size, r.feed)
	return out, err
}

// Each form of a request, and what is not one.
func TestRequests(t *testing.T) {
	for _, test := range []struct {
		text, want string
		lost       bool
	}{
		{"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", `["GET" "k"] false`, false},
		{"*0\r\n*-1\r\n\r\nPING\r\n", `["PING"] false`, false},
		{"set k \"a b\\x41\\n\" 'it\\'s'\n", `["set" "k" "a bA\n" "it's"] false`, false},
		{"*1\r\n$0\r\n\r\n", `[""] false`, false},
		{"*1\r\n:1\r\n", "", true},
		{"*x\r\n", "", true},
		{"set 'open\r\n", "", true},
		{"*1\r\n$-1\r\n", "", true},
	} {
		got, err := parseRequests([]byte(test.text), 1000)
		if strings.Join(got, ";") != test.want || (err != nil) != test.lost {
			t.Errorf("%q: %s, %v; want %s", test.text, got, err, test.want)
		}
	}
}

// Each form of a reply in RESP2 and RESP3, nested and in parts, and what is
// not one.
func TestReplies(t *testing.T) {
	for _, test := range []struct {
		text, want string
		lost       bool
	}{
		{"+OK\r\n-ERR no\r\n:-7\r\n$2\r\nab\r\n$-1\r\n*-1\r\n$0\r\n\r\n", `1 OK;2 (error) ERR no;3 (integer) -7;4 "ab";0 (nil);0 (nil);4 ""`, false},
		{"*2\r\n*1\r\n:1\r\n*0\r\n", "5 [[(integer) 1] []]", false},
		{"_\r\n#t\r\n#f\r\n,1.5\r\n(123456789012345678901\r\n", "0 (nil);6 true;6 false;7 1.5;8 123456789012345678901", false},
		{"=7\r\ntxt:abc\r\n!5\r\nERR x\r\n", `4 "abc";2 (error) ERR x`, false},
		{"%1\r\n+k\r\n:1\r\n~1\r\n:2\r\n>2\r\n+message\r\n:3\r\n", "9 [k (integer) 1];5 [(integer) 2];10 [message (integer) 3]", false},
		{"|1\r\n+ttl\r\n:1\r\n*1\r\n|1\r\n+a\r\n:2\r\n+value\r\n", "5 [value]", false},
		{"$?\r\n;2\r\nab\r\n;1\r\nc\r\n;0\r\n", `4 "abc"`, false},
		{"*?\r\n:1\r\n*1\r\n:2\r\n.\r\n%?\r\n+k\r\n+v\r\n.\r\n", "5 [(integer) 1 [(integer) 2]];9 [k v]", false},
		{"$300000\r\n" + strings.Repeat("x", 300000) + "\r\n:1\r\n", "11 (something long);3 (integer) 1", false},
		{"$549755813888\r\nabc", "", false},
		{"?\r\n", "", true}, {"\r\n", "", true}, {"#x\r\n", "", true}, {":x\r\n", "", true}, {".\r\n", "", true}, {";1\r\na\r\n", "", true},
		{strings.Repeat("*1\r\n", 100), "", true},
	} {
		got, err := parseReplies([]byte(test.text), 1000)
		if strings.Join(got, ";") != test.want || (err != nil) != test.lost {
			t.Errorf("%.60q: %s, %v; want %s", test.text, got, err, test.want)
		}
	}
}

// Whatever comes, in whatever pieces: the decoders never panic, and make the
// same of the same bytes.
func FuzzDecoders(f *testing.F) {
	for _, seed := range []string{
		"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", "set k \"a\\x41\" 'b'\n", "*2\r\n*1\r\n:1\r\n$-1\r\n", "|1\r\n+a\r\n:2\r\n%?\r\n+k\r\n,1.5\r\n.\r\n", "$?\r\n;2\r\nab\r\n;0\r\n",
		"=7\r\ntxt:abc\r\n#t\r\n_\r\n(12\r\n!3\r\nERR\r\n>1\r\n+x\r\n~1\r\n:1\r\n",
	} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		for _, parse := range []func([]byte, int) ([]string, error){parseRequests, parseReplies} {
			whole, err := parse(data, max(len(data), 1))
			for _, n := range []int{1, min(max(size, 1), 1<<20)} {
				if pieces, other := parse(data, n); !slices.Equal(pieces, whole) || (err == nil) != (other == nil) {
					t.Errorf("%q in pieces of %d: %q, %v; whole: %q, %v", data, n, pieces, other, whole, err)
				}
			}
		}
	})
}

// Whatever a client and a server say to each other: the reader never panics,
// every operation that begins ends once, and none ends that did not begin.
func FuzzConversation(f *testing.F) {
	f.Add([]byte("SET lock a NX PX 9\nMULTI\nDEL lock\nEXEC\n"), []byte("+OK\r\n+OK\r\n+QUEUED\r\n*1\r\n:1\r\n"))
	f.Add([]byte("SUBSCRIBE a b\nCLIENT REPLY SKIP\nGET lock\nGET lock\nUNSUBSCRIBE\n"), []byte("*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n>1\r\n+x\r\n$1\r\na\r\n"))
	f.Add([]byte("eval \"return redis.call('set',KEYS[1],ARGV[1],'NX')\" 1 lock a\nMONITOR\nRESET\n"), []byte("+OK\r\n+OK\r\n+1.000000 [0 x] \"a\"\r\n+RESET\r\n"))
	f.Fuzz(func(t *testing.T, sent, received []byte) {
		open := map[int64]bool{}
		var last int64
		lock := NewLock(Options{Key: "lock"})
		conn := lock.Conn("n1", func(e history.Event) {
			switch e.Kind {
			case history.Note:
			case history.Invoke:
				open[e.Op] = true
			default:
				if !open[e.Op] {
					t.Errorf("operation %d ends twice, or never began: %+v", e.Op, e)
				}
				delete(open, e.Op)
			}
		}, func() int64 { last++; return last })
		r := &reader{note: func(string) {}, pairs: pairing{conn: conn}}
		r.requests.emit, r.replies.emit = r.pairs.request, r.pairs.reply
		for i := 0; i < max(len(sent), len(received)); i += 7 {
			r.sent(sent[min(i, len(sent)):min(i+7, len(sent))])
			r.received(received[min(i, len(received)):min(i+7, len(received))])
		}
		r.end()
		if len(open) > 0 {
			t.Errorf("%d operations never ended", len(open))
		}
	})
}

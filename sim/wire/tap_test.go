package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/recount-io/recount/history"
)

// bench is a tap before a server that the test plays, with what it tells.
type bench struct {
	tap    *Tap
	server net.Listener

	mu     sync.Mutex
	events []history.Event
	notes  []string
	op     int64
}

// newBench starts a tap; without a server if none is to be there.
func newBench(t *testing.T, upstream string, watch func(net.Addr, []string)) *bench {
	t.Helper()
	leaks := goleak.IgnoreCurrent()
	b := &bench{}
	if upstream == "" {
		var err error
		if b.server, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		upstream = b.server.Addr().String()
	}
	lock := NewLock(Options{Key: "lock"})
	tap, err := NewTap(TapOptions{
		Upstream: upstream, Watch: watch,
		Conn: func() *Conn { return lock.Conn("n1", b.tell, func() int64 { b.op++; return b.op }) },
		Note: func(text string) { b.mu.Lock(); defer b.mu.Unlock(); b.notes = append(b.notes, text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	b.tap = tap
	t.Cleanup(func() {
		if b.server != nil {
			_ = b.server.Close()
		}
		if err := tap.Close(); err != nil {
			t.Error(err)
		}
		goleak.VerifyNone(t, leaks)
	})
	return b
}

func (b *bench) tell(e history.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, e)
}

func (b *bench) seen() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var parts []string
	for _, e := range b.events {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Kind, e.Call, e.Error)))
	}
	return strings.Join(parts, "; ")
}

// connect returns both ends of a connection through the tap.
func (b *bench) connect(t *testing.T) (client, server *net.TCPConn) {
	t.Helper()
	c, err := net.Dial("tcp", b.tap.Addr())
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.server.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = c.Close(), s.Close() })
	return c.(*net.TCPConn), s.(*net.TCPConn)
}

func send(t *testing.T, to io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(to, text); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, from io.Reader, text string) {
	t.Helper()
	got := make([]byte, len(text))
	if _, err := io.ReadFull(from, got); err != nil || string(got) != text {
		t.Fatalf("received %q, %v; want %q", got, err, text)
	}
}

// An operation is reported before the server can have it, and completed before the
// client can know.
func TestTapTellsInTime(t *testing.T) {
	b := newBench(t, "", nil)
	client, server := b.connect(t)
	const command = "*3\r\n$5\r\nSETNX\r\n$4\r\nlock\r\n$1\r\na\r\n"
	send(t, client, command[:9])
	receive(t, server, command[:9]) // nobody waits for the whole
	if got := b.seen(); got != "" {
		t.Errorf("reported too early: %s", got)
	}
	send(t, client, command[9:])
	receive(t, server, command[9:])
	if got := b.seen(); got != "invoke acquire" {
		t.Errorf("when the server has it: %s", got)
	}
	send(t, server, ":1\r\n")
	receive(t, client, ":1\r\n")
	if got := b.seen(); got != "invoke acquire; ok acquire" {
		t.Errorf("when the client has the reply: %s", got)
	}
	send(t, client, "DEL lock\r\n")
	receive(t, server, "DEL lock\r\n")
	_ = server.Close()
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the server's end came as %v", err)
	}
	if got := b.seen(); !strings.HasSuffix(got, "invoke release; info release the connection ended") {
		t.Errorf("after the server's end: %s", got)
	}
}

// The end of one direction leaves the other one open; a reset comes as one; a
// server that is not there resets at once.
func TestTapPassesOnEnds(t *testing.T) {
	b := newBench(t, "", nil)
	client, server := b.connect(t)
	send(t, client, "PING\r\n")
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(server); err != nil || string(got) != "PING\r\n" {
		t.Fatalf("the server read %q, %v", got, err)
	}
	send(t, server, "+PONG\r\n")
	receive(t, client, "+PONG\r\n")

	client, server = b.connect(t)
	_ = server.SetLinger(0)
	_ = server.Close()
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the server's reset came as %v", err)
	}
	client, server = b.connect(t)
	_ = client.SetLinger(0)
	_ = client.Close()
	if _, err := server.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client's reset came as %v", err)
	}
	_ = b.server.Close()
	conn, err := net.Dial("tcp", b.tap.Addr())
	if err == nil {
		_, err = conn.Read(make([]byte, 1))
		_ = conn.Close()
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("without a server: %v", err)
	}
}

// Bytes that are no Redis protocol pass unaltered, in both directions, and end
// the reading of that connection with a note.
func TestTapPassesOnWhatItDoesNotUnderstand(t *testing.T) {
	b := newBench(t, "", nil)
	client, server := b.connect(t)
	var sent [1 << 20]byte
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(sent[:])
	copy(sent[:], "*1\r\n!")
	for _, way := range [][2]*net.TCPConn{{client, server}, {server, client}} {
		var work sync.WaitGroup
		work.Go(func() { _, _ = way[0].Write(sent[:]) })
		got := make([]byte, len(sent))
		if _, err := io.ReadFull(way[1], got); err != nil || !bytes.Equal(got, sent[:]) {
			t.Errorf("altered, or %v", err)
		}
		work.Wait()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.notes) != 1 {
		t.Errorf("notes: %q", b.notes)
	}
}

// What a connection that is not read any more carries may be anything: it is reported as
// operations on the lock of unknown outcome.
func TestTapThatGetsLost(t *testing.T) {
	b := newBench(t, "", nil)
	client, server := b.connect(t)
	send(t, client, "SETNX lock a\r\n")
	receive(t, server, "SETNX lock a\r\n")
	send(t, server, ":1\r\n")
	receive(t, client, ":1\r\n")
	send(t, client, "*1\r\n!\r\n")
	receive(t, server, "*1\r\n!\r\n")
	const why = "the connection could not be read on"
	want := "invoke acquire; ok acquire; invoke acquire; invoke renew; invoke release; info acquire " + why + "; info renew " + why + "; info release " + why
	if got := b.seen(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// redisServer starts a real server and returns its address.
func redisServer(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("no redis-server is on PATH")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().(*net.TCPAddr)
	_ = free.Close()
	cmd := exec.Command(path, "--port", strconv.Itoa(addr.Port), "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "Ready to accept connections") {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return addr.String()
		}
	}
	t.Fatal("redis-server did not get ready")
	return ""
}

// encode is a command as clients send it.
func encode(args []string) string {
	text := fmt.Sprintf("*%d\r\n", len(args))
	for _, arg := range args {
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(arg), arg)
	}
	return text
}

// workload is what one client sends: valid commands, alone and in transactions.
func workload(r *rand.Rand, client int) (commands [][]string) {
	if client%2 == 1 {
		commands = append(commands, []string{"HELLO", "3"})
	}
	values := []string{"a", "", "with \"quotes\" and \\", "\r\n\x00\xff", strings.Repeat("long", 5000), fmt.Sprint(client)}
	keys := []string{"lock", "k1", "k2"}
	for range 120 {
		key, value := keys[r.IntN(len(keys))], values[r.IntN(len(values))]
		pick := [][]string{
			{"SET", key, value}, {"set", key, value, "NX", "PX", "5000"}, {"SET", key, value, "XX", "GET"}, {"GET", key}, {"DEL", key, "k1"},
			{"PEXPIRE", key, "4000"}, {"MULTI"}, {"EXEC"}, {"DISCARD"}, {"EVAL", releaseText, "1", key, value}, {"MGET", key, "none"},
			{"EVAL", "return {1, {ok='fine'}, {2, 'three', false}}", "0"}, {"LPUSH", "list", value}, {"LRANGE", "list", "0", "5"},
			{"HSET", "hash", "f", value}, {"HGETALL", "hash"}, {"PUBLISH", "channel", value}, {"TTL", key}, {"PING"},
		}
		commands = append(commands, pick[r.IntN(len(pick))])
	}
	return balanced(commands)
}

const releaseText = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`

// balanced leaves out what would not be valid: EXEC and DISCARD without MULTI,
// and MULTI within MULTI.
func balanced(commands [][]string) (out [][]string) {
	open := false
	for _, c := range append(commands, []string{"EXEC"}) {
		switch c[0] {
		case "MULTI":
			if open {
				continue
			}
			open = true
		case "EXEC", "DISCARD":
			if !open {
				continue
			}
			open = false
		}
		out = append(out, c)
	}
	return out
}

// executed are the commands of a connection as MONITOR shows them: those of a
// transaction when it is carried out, and nothing of what was discarded.
func executed(commands []string) (out []string) {
	var queue []string
	open := false
	for _, c := range commands {
		switch name := strings.ToUpper(strings.Trim(strings.SplitN(c, " ", 2)[0], `"`)); {
		case name == "MULTI":
			open, queue = true, nil
			out = append(out, c)
		case name == "EXEC":
			out = append(out, queue...)
			open = false
		case name == "DISCARD":
			out = append(out, c)
			open = false
		case open:
			queue = append(queue, c)
		default:
			out = append(out, c)
		}
	}
	return out
}

// monitored are the commands that MONITOR showed, by the client's address, up
// to the one that ends it.
func monitored(t *testing.T, from *bufio.Reader, end string) map[string][]string {
	t.Helper()
	line := regexp.MustCompile(`^\+\d+\.\d+ \[\d+ ([^\]]+)\] (.*)\r\n$`)
	out := map[string][]string{}
	for {
		text, err := from.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		found := line.FindStringSubmatch(text)
		if found == nil || found[1] == "lua" {
			continue
		}
		args, fine := splitInline(found[2])
		if !fine {
			t.Fatalf("MONITOR shows %q", text)
		}
		if shown := fmt.Sprintf("%q", args); strings.Contains(shown, end) {
			return out
		} else if upper(args[0]) != "EXEC" { // shown before or after what it carries out
			out[found[1]] = append(out[found[1]], strings.Trim(shown, "[]"))
		}
	}
}

// What the tap reads is what the server gets, command by command: MONITOR of a
// real server shows the same ones, in the same order, for each connection.
func TestTapReadsWhatTheServerGets(t *testing.T) {
	addr := redisServer(t)
	var mu sync.Mutex
	read := map[string][]string{}
	b := newBench(t, addr, func(client net.Addr, args []string) {
		mu.Lock()
		defer mu.Unlock()
		read[client.String()] = append(read[client.String()], strings.Trim(fmt.Sprintf("%q", args), "[]"))
	})
	monitor, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = monitor.Close() }()
	shown := bufio.NewReaderSize(monitor, 1<<20)
	send(t, monitor, "MONITOR\r\n")
	receive(t, shown, "+OK\r\n")
	const clients = 6
	var work sync.WaitGroup
	for client := range clients {
		work.Go(func() { drive(t, b.tap.Addr(), client) })
	}
	work.Wait()
	last, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = last.Close() }()
	send(t, last, "PING all-done\r\n")
	monitoredBy := monitored(t, shown, "all-done")
	mu.Lock()
	defer mu.Unlock()
	if len(read) != clients {
		t.Errorf("%d connections were read, want %d", len(read), clients)
	}
	for conn, commands := range read {
		if got, want := executed(commands), monitoredBy[conn]; !slices.Equal(got, want) {
			t.Errorf("%s: %d commands read, %d shown; the first difference: %s", conn, len(got), len(want), difference(got, want))
		}
	}
	if got := b.seen(); !strings.Contains(got, "ok acquire") || !strings.Contains(got, "fail acquire") || !strings.Contains(got, "ok release") {
		t.Error("nothing was reported of the lock")
	}
	if len(b.notes) != 0 {
		t.Errorf("notes: %q", b.notes)
	}
}

func difference(a, b []string) string {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return fmt.Sprintf("number %d: %.200q and %.200q", i, a[min(i, len(a)):min(i+1, len(a))], b[min(i, len(b)):min(i+1, len(b))])
		}
	}
	return ""
}

// drive sends a workload in pieces of any size, and reads the replies.
func drive(t *testing.T, addr string, client int) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = conn.Close() }()
	r := rand.New(rand.NewPCG(uint64(client), 3))
	var text strings.Builder
	for _, c := range workload(r, client) {
		text.WriteString(encode(c))
	}
	text.WriteString(encode([]string{"ECHO", "that was all"}))
	var work sync.WaitGroup
	work.Go(func() {
		for rest := text.String(); rest != ""; {
			n := min(len(rest), 1+r.IntN(3000))
			if _, err := io.WriteString(conn, rest[:n]); err != nil {
				t.Error(err)
				return
			}
			rest = rest[n:]
		}
	})
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Errorf("client %d: %v", client, err)
			break
		}
		if line == "that was all\r\n" {
			break
		}
	}
	work.Wait()
}

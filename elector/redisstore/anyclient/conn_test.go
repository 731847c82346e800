package anyclient

import (
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/store"
)

// Replies arrive as a server that speaks RESP2 would have sent them.
func TestReplies(t *testing.T) {
	for _, c := range []struct{ reply, want any }{
		{"OK", "OK"},
		{"", ""},
		{"two\r\nlines", "two\r\nlines"},
		{[]byte("bytes"), "bytes"},
		{int64(-7), int64(-7)},
		{true, int64(1)},
		{false, int64(0)},
		{1.5, "1.5"},
		{[]any{}, []any{}},
		{[]any{int64(1), nil, "a", []any{"b", int64(1) << 60}}, []any{int64(1), nil, "a", []any{"b", int64(1) << 60}}},
		{map[string]any{"proto": int64(2)}, []any{"proto", int64(2)}},
		{map[any]any{int64(1): []any{nil}}, []any{int64(1), []any{nil}}},
	} {
		r := through(t, scripted{do: func(context.Context, []string) (any, error) { return c.reply, nil }})
		if got, err := r.Do(t.Context(), "GET", "x").Result(); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%#v arrives as %#v, %v; want %#v", c.reply, got, err, c.want)
		}
	}
	r := through(t, scripted{do: func(context.Context, []string) (any, error) { return "txt:id=1", nil }})
	for command, want := range map[string]string{"CLIENT": "id=1", "info": "id=1", "GET": "txt:id=1"} { // RESP3 marks what is for people
		if got, err := r.Do(t.Context(), command, "x").Result(); err != nil || got != want {
			t.Errorf("the reply to %s arrives as %#v, %v; want %q", command, got, err, want)
		}
	}
	r = through(t, scripted{do: func(context.Context, []string) (any, error) { return nil, nil }})
	if err := r.Do(t.Context(), "GET", "x").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("nil arrives as %v", err)
	}
	r = through(t, scripted{do: func(context.Context, []string) (any, error) { return []any{uint8(1)}, nil }})
	if err := r.Do(t.Context(), "GET", "x").Err(); err == nil || !strings.Contains(err.Error(), "uint8") {
		t.Errorf("a reply of an unknown type arrives as %v", err)
	}
}

// A command arrives whole, in whatever parts it is written.
func TestCommandsInParts(t *testing.T) {
	got := make(chan []string, 1)
	c := newConn(scripted{do: func(_ context.Context, command []string) (any, error) {
		got <- command
		return "OK", nil
	}})
	command := []string{"SET", "k", "two\r\nlines", ""}
	text := "*4\r\n$3\r\nSET\r\n$1\r\nk\r\n$10\r\ntwo\r\nlines\r\n$0\r\n\r\n"
	for cut := range len(text) {
		for _, part := range []string{text[:cut], text[cut:]} {
			if _, err := io.WriteString(c, part); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := io.ReadFull(c, make([]byte, len("$2\r\nOK\r\n"))); err != nil {
			t.Fatal(err)
		}
		if got := <-got; !reflect.DeepEqual(got, command) {
			t.Errorf("cut after %d bytes it arrives as %q", cut, got)
		}
	}
	for _, wrong := range []string{"*0\r\n", "*-1\r\n", "GET k\r\n", "*1\r\n:3\r\n", "*1\r\n$x\r\n"} {
		if _, err := io.WriteString(newConn(scripted{}), wrong); err == nil {
			t.Errorf("%q was taken for a command", wrong)
		}
	}
}

// An error of the server reaches the store as one: a script that the server does not know
// is sent as text, and another refusal is an answer.
func TestServersErrors(t *testing.T) {
	var sent []string
	s := open(t, scripted{do: func(_ context.Context, command []string) (any, error) {
		name := strings.ToLower(command[0])
		sent = append(sent, name)
		if name == "evalsha" {
			return nil, Error("NOSCRIPT No matching script.")
		}
		return nil, errors.Join(errors.New("wrapped"), Error("READONLY You can't write\nagainst a read only replica."))
	}}, redisstore.Options{})
	_, err := s.Acquire(t.Context(), attempt("n1", "a"))
	if !answered(err) || !redis.HasErrorPrefix(err, "READONLY You can't write against") {
		t.Errorf("acquire: %v, want the server's answer READONLY", err)
	}
	if want := []string{"evalsha", "eval"}; !reflect.DeepEqual(sent, want) {
		t.Errorf("sent were %q, want %q", sent, want)
	}
}

// timedOut is an error of a client whose own time has run out.
type timedOut struct{}

func (timedOut) Error() string { return "i/o timeout" }
func (timedOut) Timeout() bool { return true }

// noScript is an answer as go-redis has it.
type noScript struct{}

func (noScript) Error() string { return "NOSCRIPT No matching script." }
func (noScript) RedisError()   {}

// What is no Error says nothing about the command, whatever its words and its type are:
// nothing is sent again, and the store does not take it for an answer.
func TestOtherErrors(t *testing.T) {
	for name, f := range map[string]func() (any, error){
		"the words of an answer":      func() (any, error) { return nil, errors.New("NOSCRIPT No matching script.") },
		"an answer of go-redis":       func() (any, error) { return nil, noScript{} },
		"nothing there of go-redis":   func() (any, error) { return nil, redis.Nil },
		"a time-out of the client":    func() (any, error) { return nil, timedOut{} },
		"a reply of an unknown shape": func() (any, error) { return struct{}{}, nil },
		"a panic":                     func() (any, error) { panic("oh") },
	} {
		var scripts atomic.Int32
		s := open(t, scripted{do: func(_ context.Context, command []string) (any, error) {
			if strings.HasPrefix(command[0], "eval") {
				scripts.Add(1)
				return f()
			}
			return "PONG", nil
		}}, redisstore.Options{})
		_, err := s.Acquire(t.Context(), attempt("n1", "a"))
		var fatal *store.FatalError
		if err == nil || answered(err) || errors.As(err, &fatal) || !strings.Contains(err.Error(), "anyclient: ") || scripts.Load() != 1 {
			t.Errorf("%s: acquire: %v; the script was sent %d times, want an unknown outcome after once", name, err, scripts.Load())
		}
	}
}

// The client learns how much time a command has. A call ends in time also if the client
// does not heed that.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, heeds := range []bool{true, false} {
			free := make(chan struct{})
			r := through(t, scripted{do: func(ctx context.Context, _ []string) (any, error) {
				if at, ok := ctx.Deadline(); !ok || time.Until(at) != time.Second {
					t.Errorf("the deadline is %v, %v", at, ok)
				}
				if heeds {
					<-ctx.Done()
				} else {
					<-free
				}
				return nil, ctx.Err()
			}})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			began := time.Now()
			err := r.Do(ctx, "GET", "x").Err()
			var timeout interface{ Timeout() bool }
			if took := time.Since(began); took != time.Second || !errors.As(err, &timeout) || !timeout.Timeout() {
				t.Errorf("heeds the context %v: %v after %v, want a time-out after 1s", heeds, err, took)
			}
			cancel()
			close(free)
		}
	})
}

// When the connection is closed, what the client does for it is called off, and the
// reader learns of it.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		off := make(chan error, 1)
		c := newConn(scripted{do: func(ctx context.Context, _ []string) (any, error) {
			<-ctx.Done()
			off <- ctx.Err()
			return nil, ctx.Err()
		}})
		_, _ = io.WriteString(c, "*1\r\n$4\r\nPING\r\n")
		read := make(chan error, 1)
		go func() {
			_, err := c.Read(make([]byte, 10))
			read <- err
		}()
		synctest.Wait()
		_ = c.Close()
		if err := <-off; !errors.Is(err, context.Canceled) {
			t.Errorf("the command ended with %v", err)
		}
		if err := <-read; err == nil {
			t.Error("a closed connection can be read")
		}
		if _, err := io.WriteString(c, "*1\r\n"); err == nil {
			t.Error("a closed connection can be written to")
		}
	})
}

// Several commands go to the client as they are, in one call. If it breaks, nothing is known
// of any of them.
func TestPipelines(t *testing.T) {
	want := [][]string{{"get", "a"}, {"get", "b"}, {"get", "c"}}
	for name, c := range map[string]struct {
		replies []any
		err     error
		known   bool
	}{
		"all":                 {[]any{"1", Error("ERR no"), "3"}, nil, true},
		"broken":              {[]any{"1"}, io.EOF, false},
		"broken behind all":   {[]any{"1", Error("ERR no"), "3"}, io.EOF, false},
		"fewer without error": {[]any{"1"}, nil, false},
		"more":                {[]any{"1", Error("ERR no"), "3", "4"}, nil, false},
	} {
		r := through(t, batching{pipeline: func(_ context.Context, commands [][]string) ([]any, error) {
			if !reflect.DeepEqual(commands, want) {
				t.Errorf("%s: the client gets %q", name, commands)
			}
			return c.replies, c.err
		}})
		cmds, _ := r.Pipelined(t.Context(), func(p redis.Pipeliner) error {
			for _, words := range want {
				p.Get(t.Context(), words[1])
			}
			return nil
		})
		for i, cmd := range cmds {
			text, err := cmd.(*redis.StringCmd).Result()
			var reply redis.Error
			switch {
			case !c.known && (err == nil || errors.As(err, &reply)):
				t.Errorf("%s: command %d: %q, %v, want a broken connection", name, i, text, err)
			case c.known && i == 1 && (err == nil || err.Error() != "ERR no"):
				t.Errorf("%s: command %d: %q, %v, want the server's error", name, i, text, err)
			case c.known && i != 1 && (err != nil || text != c.replies[i]):
				t.Errorf("%s: command %d: %q, %v, want %q", name, i, text, err, c.replies[i])
			}
		}
	}
}

// Without a pipeline commands are sent in order, each when the one before has its reply,
// and none behind one that broke.
func TestOneByOne(t *testing.T) {
	var sent []string
	r := through(t, scripted{do: func(_ context.Context, command []string) (any, error) {
		sent = append(sent, command[1])
		if command[1] == "b" {
			return nil, io.EOF
		}
		return command[1], nil
	}})
	cmds, _ := r.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for _, key := range []string{"a", "b", "c"} {
			p.Get(t.Context(), key)
		}
		return nil
	})
	if cmds[0].Err() == nil || cmds[1].Err() == nil || cmds[2].Err() == nil || !reflect.DeepEqual(sent, []string{"a", "b"}) {
		t.Errorf("sent were %q, with the errors %v, %v, %v", sent, cmds[0].Err(), cmds[1].Err(), cmds[2].Err())
	}
}

// There is no store without a client.
func TestNoClient(t *testing.T) {
	if s, err := New(nil, 0, redisstore.Options{}); s != nil || err == nil {
		t.Errorf("%v, %v", s, err)
	}
}

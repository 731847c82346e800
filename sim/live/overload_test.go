package live

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/live/redisserver"
)

// overloadsOf are the overloads of a history, in short.
func overloadsOf(events []history.Event) (list []string) {
	for _, e := range events {
		if e.Fault != history.OverloadFault {
			continue
		}
		text := fmt.Sprintf("%s %v %v", e.Phase, e.At, e.Targets)
		if on := e.Phase == history.On; on != (e.Effect != nil) || on && *e.Effect != history.EffectOf(history.OverloadFault) || on == (e.Effective != nil) {
			text += fmt.Sprintf(" with effect %+v, effective %v", e.Effect, e.Effective)
		}
		list = append(list, text)
	}
	return list
}

// A server that refuses connections is overloaded from the last look before that to
// the look that shows it, and so is one that works all the time. One that is restarted
// counts anew; one that does not tell is not blamed; one that is slow without working
// was held up by the machine.
func TestOverloadsAreNoticed(t *testing.T) {
	const ms = time.Millisecond
	counted := func(rejected int64, worked time.Duration) load { return load{true, rejected, true, worked} }
	type look struct {
		load
		takes time.Duration
		err   error
	}
	for name, test := range map[string]struct {
		looks []look
		want  []string
	}{
		"idle":                      {[]look{{load: counted(7, 0)}, {load: counted(7, 5*ms)}, {load: counted(7, 10*ms)}}, nil},
		"refuses":                   {[]look{{load: counted(7, 0)}, {load: counted(9, 0)}, {load: counted(9, 0)}}, []string{"on 0s [store]", "off 100ms [store]"}},
		"refused before the run":    {[]look{{load: counted(7, 0)}}, nil},
		"refuses on and on":         {[]look{{load: counted(1, 0)}, {load: counted(2, 0)}, {load: counted(3, 0)}, {load: counted(4, 0)}}, []string{"on 0s [store]", "off 300ms [store]"}},
		"refuses the harness":       {[]look{{load: counted(1, 0)}, {err: errors.New("ERR max number of clients reached"), takes: 30 * ms}}, []string{"on 100ms [store]", "off 130ms [store]"}},
		"is away":                   {[]look{{load: counted(1, 0)}, {err: errors.New("connection refused")}, {load: counted(5, time.Second)}}, nil},
		"restarted":                 {[]look{{load: counted(9, time.Second)}, {load: counted(0, 95*ms)}, {load: counted(0, 95*ms)}}, nil},
		"restarted, and refuses":    {[]look{{load: counted(9, time.Second)}, {load: counted(2, 0)}}, []string{"on 0s [store]", "off 100ms [store]"}},
		"busy":                      {[]look{{load: counted(0, 0)}, {load: counted(0, 450*ms), takes: 400 * ms}, {load: counted(0, 450*ms)}}, []string{"on 0s [store]", "off 500ms [store]"}},
		"busy for a moment":         {[]look{{load: counted(0, 0)}, {load: counted(0, 70*ms)}, {load: counted(0, 140*ms)}}, nil},
		"busy at the end of a look": {[]look{{load: counted(0, 0)}, {load: counted(0, 120*ms), takes: 110 * ms}}, []string{"on 0s [store]", "off 210ms [store]"}},
		"late without working":      {[]look{{load: counted(0, 0)}, {load: counted(0, 5*ms), takes: 400 * ms}}, nil},
		"tells no processor time":   {[]look{{load: load{counts: true}}, {load: load{counts: true}, takes: 400 * ms}}, nil},
		"tells of it from now on":   {[]look{{load: load{counts: true}}, {load: counted(0, time.Hour)}}, nil},
		"tells nothing of refusals": {[]look{{load: load{works: true}}, {load: load{works: true, counts: true, rejected: 9}}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				recorder := history.NewRecorder(func() time.Duration { return time.Since(begin) })
				o := &overloads{least: 100 * ms, recorder: recorder}
				ctx, stop := context.WithCancel(t.Context())
				n := 0
				o.watch(ctx, func(context.Context) (load, error) {
					now := test.looks[n]
					time.Sleep(now.takes)
					if n++; n == len(test.looks) {
						stop()
					}
					return now.load, now.err
				})
				o.record(nil)
				if got := overloadsOf(recorder.History(history.Header{}).Events); !slices.Equal(got, test.want) {
					t.Errorf("recorded %q, want %q", got, test.want)
				}
			})
		})
	}
}

// A server that is busy while a fault is on the store is not overloaded; one that
// refuses connections is, whatever else is done to it. A candidate of ours that is
// refused shows it too, and what any other says does not.
func TestOverloadsAreRecorded(t *testing.T) {
	l := newListener()
	l.loads = &overloads{least: 100 * time.Millisecond, recorder: l.recorder}
	crash := (faults.Step{Fault: faults.StoreCrash{}}).Event("f1", history.On, []string{"store-2"})
	crash.At = 9 * sec
	l.loads.note(8*sec, true, "busy")
	l.loads.note(9*sec+sec/2, false, "refused")
	refusal := func(op int) {
		l.heard(fmt.Sprintf(`{"event":"invoke","op":%d,"call":"renew"}`, op), fmt.Sprintf(`{"event":"info","op":%d,"call":"renew","error":"ERR max number of clients reached"}`, op))
	}
	l.now = 20 * sec
	refusal(1)
	l.now, l.steered = 30*sec, true
	refusal(2)
	l.loads.record([]history.Event{crash})
	got := overloadsOf(l.recorder.History(history.Header{}).Events)
	if want := []string{"on 9.5s [store]", "off 10s [store]", "on 30s [store]", "off 30s [store]"}; !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
}

// What old and new servers, and others, tell of their load.
func TestParseLoad(t *testing.T) {
	for text, want := range map[string]load{
		"": {}, "# Stats\r\nrejected_connections:12\r\n": {counts: true, rejected: 12},
		"rejected_connections:0\nused_cpu_sys:1.5\r\nused_cpu_user:0.25\r\n":                       {true, 0, true, 1750 * time.Millisecond},
		"used_cpu_sys:9\nused_cpu_user:9\nused_cpu_sys_main_thread:1\nused_cpu_user_main_thread:2": {works: true, worked: 3 * sec},
		"used_cpu_user:3\nrejected_connections:many":                                               {},
	} {
		if got := parseLoad(text); got != want {
			t.Errorf("%q is %+v, want %+v", text, got, want)
		}
	}
}

// A redis-server that refuses connections while a run goes on is in the history, and
// so is one that is kept busy. One that nobody bothers is not.
func TestRunOnOverloadedServer(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not on PATH")
	}
	for name, bother := range map[string]func(t *testing.T, server redisserver.Server, admin *redis.Client){
		"idle": func(*testing.T, redisserver.Server, *redis.Client) {},
		"refuses": func(t *testing.T, server redisserver.Server, admin *redis.Client) {
			limit := func(clients int) {
				if err := admin.ConfigSet(t.Context(), "maxclients", strconv.Itoa(clients)).Err(); err != nil {
					t.Error(err)
				}
			}
			list, err := admin.ClientList(t.Context()).Result()
			if err != nil {
				t.Error(err)
			}
			limit(strings.Count(list, "\n"))
			defer limit(1000)
			conn, err := net.Dial("tcp", server.Addr())
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close() }()
			if answer, err := bufio.NewReader(conn).ReadString('\n'); !strings.Contains(answer, refused) {
				t.Errorf("the server said %q, %v", answer, err)
			}
		},
		"is busy": func(t *testing.T, _ redisserver.Server, admin *redis.Client) {
			// Half a second, or so: the command is answered when it has worked.
			if err := admin.Eval(t.Context(), "for i = 1, 200000000 do end return 1", nil).Err(); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan struct{})
			var s *Session
			s, err := Open(t.Context(), Options{Redis: "process", Command: []string{"sh", "-c", leads(t)}, Progress: func(p Progress) {
				if p.Phase == "healed" {
					go func() {
						defer close(done)
						admin := redis.NewClient(s.first().Options())
						defer func() { _ = admin.Close() }()
						for range 3 { // over some time, as it would be
							bother(t, s.first(), admin)
						}
					}()
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			p := plan(2)
			p.Quiet = 2 * sec
			h, err := s.Run(t.Context(), p, "")
			<-done
			if err := errors.Join(err, s.Close()); err != nil {
				t.Fatal(err)
			}
			// A server that has to wait for its processor does not work without a
			// break: the machine holds it up then, which is recorded as such.
			held := name == "is busy" && slices.ContainsFunc(h.Events, func(e history.Event) bool { return e.Fault == history.StallFault })
			if got := overloadsOf(h.Events); (len(got) > 0) != (name != "idle") && !held {
				t.Errorf("recorded %q", got)
			}
		})
	}
}

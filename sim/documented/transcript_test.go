package documented

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// solo is a candidate alone with its Redis: time passes only when it sleeps.
type solo struct {
	sim.Host // what no test here uses
	store    *redismodel.Server
	now, end time.Duration
	said     []string
}

const epoch = 1_750_000_000 * time.Second

func (h *solo) Settings() sim.Settings {
	return sim.Settings{Node: "n1", Lease: 30 * time.Second, Election: "e1"}
}
func (h *solo) Now() time.Duration    { return h.now }
func (h *solo) Wall() time.Duration   { return epoch + h.now }
func (h *solo) Sleep(d time.Duration) { h.now += max(d, 0) }
func (h *solo) Stopping() bool        { return h.now >= h.end }
func (h *solo) Random(n int) int      { return n / 2 }
func (h *solo) LeaseKey() string      { return "lease" }

func (h *solo) Elected(uint64, time.Duration)     { h.say("elected") }
func (h *solo) Deposed(_ uint64, why history.Why) { h.say("deposed: " + string(why)) }
func (h *solo) Work(uint64) func()                { return func() { h.say("work ends") } }
func (h *solo) say(text string)                   { h.said = append(h.said, fmt.Sprintf("%v %s", h.now, text)) }
func (h *solo) Do(_ time.Duration, args ...string) (any, error) {
	reply := h.store.Do(epoch+h.now, args...)
	shown := strings.Join(args, " ")
	if args[0] == "EVAL" {
		shown = "EVAL … " + strings.Join(args[2:], " ")
	}
	h.say(shown + " = " + reply.String())
	switch reply.Kind {
	case redismodel.Error:
		return nil, errors.New(reply.Text)
	case redismodel.Int:
		return reply.Int, nil
	case redismodel.Nil:
		return nil, nil
	case redismodel.Array:
		var list []any
		for _, item := range reply.Items {
			list = append(list, item.Text)
		}
		return list, nil
	default:
		return reply.Text, nil
	}
}

// stamp is a heartbeat of so long after the beginning.
func stamp(at time.Duration) string { return fmt.Sprint((epoch + at).Milliseconds()) }

// The commands of each elector are those of its document, at the times of its
// document, with its lease of 30 s.
func TestTranscripts(t *testing.T) {
	for _, c := range []struct {
		name   string
		run    sim.Elector
		before [][]string // commands of others
		lives  time.Duration
		want   []string
	}{
		{"titan", Titan, nil, 15 * time.Second, []string{
			"0s SET lease n1-40000000 NX EX 30 = OK", "0s elected", "10s GET lease = \"n1-40000000\"", "10s EXPIRE lease 30 = (integer) 1",
			"20s deposed: resigned", "20s work ends", "20s EVAL … 1 lease n1-40000000 = (integer) 1",
		}},
		{"titan, deposed", Titan, [][]string{{"SET", "lease", "other", "EX", "5"}}, 15 * time.Second, []string{
			"0s SET lease n1-40000000 NX EX 30 = (nil)", "10s SET lease n1-40000000 NX EX 30 = OK", "10s elected",
			"20s deposed: resigned", "20s work ends", "20s EVAL … 1 lease n1-40000000 = (integer) 1",
		}},
		{"pod", Pod, [][]string{{"SET", "lease", "other", "EX", "5"}}, 13 * time.Second, []string{
			"0s SET lease n1 NX EX 30 = (nil)", "0s GET lease = \"other\"", "6s SET lease n1 NX EX 30 = OK", "6s elected", "12s SET lease n1 XX EX 30 = OK",
			"18s deposed: stopped", "18s work ends",
		}},
		{"pod-lua", PodLua, nil, 25 * time.Second, []string{
			"0s SET lease n1 NX EX 30 = OK", "0s elected", "24s EVAL … 1 lease n1 30 = OK", "48s deposed: stopped", "48s work ends",
		}},
		{"honua", Honua, nil, 15 * time.Second, []string{
			"0s SET lease n1_16384_4000000040000000 NX EX 30 = OK", "0s elected", "10s EVAL … 1 lease n1_16384_4000000040000000 30 = (integer) 1",
			"20s deposed: resigned", "20s work ends", "20s EVAL … 1 lease n1_16384_4000000040000000 = (integer) 1",
		}},
		{"sovereign", Sovereign, [][]string{{"SET", "lease:heartbeat:old", stamp(-40 * time.Second)}, {"SET", "lease:heartbeat:new", stamp(0)}}, 20 * time.Second, []string{
			"5s GET lease = (nil)", "5s SET lease n1 NX EX 30 = OK", "5s GET lease = \"n1\"", "5s elected",
			"5s KEYS lease:heartbeat:* = [\"lease:heartbeat:new\" \"lease:heartbeat:old\"]", "5s GET lease:heartbeat:new = \"" + stamp(0) + "\"",
			"5s GET lease:heartbeat:old = \"" + stamp(-40*time.Second) + "\"", "5s DEL lease:heartbeat:old = (integer) 1",
			"5s SETEX lease:heartbeat:n1 35 " + stamp(5*time.Second) + " = OK", "15s SETEX lease:heartbeat:n1 35 " + stamp(15*time.Second) + " = OK",
			"20s deposed: resigned", "20s work ends", "20s DEL lease = (integer) 1",
		}},
		{"sovereign, renewal", Sovereign, [][]string{{"SET", "lease", "other"}, {"SET", "lease:heartbeat:other", stamp(0)}}, 51 * time.Second, []string{
			"5s GET lease = \"other\"", "5s GET lease:heartbeat:other = \"" + stamp(0) + "\"", "20s GET lease = \"other\"", "20s GET lease:heartbeat:other = \"" + stamp(0) + "\"",
			"35s GET lease = \"other\"", "35s GET lease:heartbeat:other = \"" + stamp(0) + "\"",
			"50s GET lease = \"other\"", "50s GET lease:heartbeat:other = \"" + stamp(0) + "\"", "50s SET lease n1 NX EX 30 = (nil)", // stale
		}},
	} {
		h := &solo{store: redismodel.New(redismodel.Options{}), end: c.lives}
		for _, args := range c.before {
			h.store.Do(epoch, args...)
		}
		if err := c.run(h); err != nil {
			t.Fatal(c.name, err)
		}
		if got, want := strings.Join(h.said, "\n"), strings.Join(c.want, "\n"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, want)
		}
	}
}

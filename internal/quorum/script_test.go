package quorum_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/internal/quorum"
	"github.com/recount-io/recount/internal/situation"
)

var rewrite = flag.Bool("rewrite", false, "write the files in testdata anew")

// Each file in testdata is a situation, named after it: what is done to one
// machine, and what the machine makes of it. Written anew with
//
//	go test ./internal/quorum -run TestScripts -rewrite
//
// and then read: what a machine does is not right because it does it.
//
// Calls and requests are numbered from 1 on, nodes from 0 on. A lease is asked for
// 10s, and a node's patience is 1s. The commands:
//
//	nodes 5
//	acquire a [floor=3]           a call that acquires with the nonce a
//	renew a token=4               a call that renews
//	release a token=4             a call that releases
//	give-up 1                     nobody waits for call 1 any more
//	answer 1 granted=4 [waiters=2]
//	answer 1 held [by=x token=4] [for=3s] [waiters=2]
//	answer 1 done|not-held|failed|fatal
//	silence 1                     the patience with request 1 is over
//	wake                          time goes on to the moment at which the machine wants to be woken
//	at 2s [input]                 time goes on to 2s, and then comes the input
func TestScripts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil || len(files) < 12 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil || !strings.HasPrefix(string(content), "# ") {
				t.Fatalf("%s does not begin with a comment that says what the situation is and what must be seen; %v", file, err)
			}
			s := newScript(3)
			situation.Run(t, file, *rewrite, func(d *situation.Command) string { return s.command(t, d) })
		})
	}
}

// script carries out the commands of one file.
type script struct {
	m     *quorum.Machine
	now   time.Duration
	calls uint64
	wake  time.Duration
}

func newScript(nodes int) *script {
	return &script{m: quorum.New(quorum.Config{Nodes: nodes}), wake: quorum.Never}
}

func (s *script) command(t *testing.T, d *situation.Command) string {
	args := append([]situation.Arg{{Key: d.Cmd}}, d.CmdArgs...)
	switch d.Cmd {
	case "nodes":
		var n int
		_, err := fmt.Sscan(args[1].Key, &n)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		*s = *newScript(n)
		return ""
	case "wake":
		s.now = max(s.now, s.wake)
		return s.step(quorum.Input{})
	case "at":
		at, err := time.ParseDuration(args[1].Key)
		if err != nil || at < s.now {
			d.Fatalf(t, "%v, and it is %v: %v", at, s.now, err)
		}
		s.now = at
		if args = args[2:]; len(args) == 0 {
			return s.step(quorum.Input{})
		}
	}
	in, err := s.input(args)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return s.step(in)
}

var kinds = map[string]quorum.InputKind{
	"acquire": quorum.BeginAcquire, "renew": quorum.BeginRenew, "release": quorum.BeginRelease,
	"give-up": quorum.GiveUp, "answer": quorum.Answer, "silence": quorum.Silence,
}

var verdicts = map[string]quorum.Verdict{
	"granted": quorum.Yes, "done": quorum.Yes, "held": quorum.No, "not-held": quorum.No, "failed": quorum.Silent, "fatal": quorum.Hopeless,
}

// input reads an input.
func (s *script) input(args []situation.Arg) (in quorum.Input, err error) {
	kind, known := kinds[args[0].Key]
	if !known || len(args) < 2 {
		return in, fmt.Errorf("no command: %v", args)
	}
	in.Kind = kind
	switch what := args[1].Key; kind {
	case quorum.BeginAcquire, quorum.BeginRenew, quorum.BeginRelease:
		s.calls++
		in.Call, in.ID, in.Nonce, in.TTL, in.Patience = s.calls, "n1", what, 10*time.Second, time.Second
	case quorum.GiveUp:
		_, err = fmt.Sscan(what, &in.Call)
	default:
		_, err = fmt.Sscan(what, &in.Request)
	}
	for _, arg := range args[2:] {
		err = errors.Join(err, detail(&in, arg))
	}
	return in, err
}

// detail reads one word of an input.
func detail(in *quorum.Input, arg situation.Arg) (err error) {
	if v, is := verdicts[arg.Key]; is && in.Kind == quorum.Answer {
		in.Verdict = v
		if v > quorum.No {
			in.Err = errors.New(arg.Key)
		}
		if arg.Key == "held" {
			in.Denial = &quorum.Denial{Withheld: true}
		}
	}
	value := strings.Join(arg.Vals, "")
	if value == "" {
		return nil
	}
	token, waiters := &in.Token, &in.Waiters
	if d := in.Denial; d != nil {
		token, waiters = &d.Token, &d.Waiters
	}
	switch arg.Key {
	case "token", "granted":
		_, err = fmt.Sscan(value, token)
	case "waiters":
		_, err = fmt.Sscan(value, waiters)
	case "floor":
		_, err = fmt.Sscan(value, &in.Floor)
	case "by":
		in.Denial.Holder, in.Denial.Withheld = value, false
	case "for":
		in.Denial.Remaining, err = time.ParseDuration(value)
	default:
		err = fmt.Errorf("what is %q?", arg.Key)
	}
	return err
}

// step gives an input to the machine, and prints what it asks for.
func (s *script) step(in quorum.Input) string {
	out := s.m.Step(s.now, in)
	s.wake = out.Wake
	var b strings.Builder
	for _, r := range out.Requests {
		fmt.Fprintf(&b, "%d to node %d: %s\n", r.Number, r.Node, asked(&r))
	}
	for _, e := range out.Endings {
		fmt.Fprintf(&b, "call %d: %s\n", e.Call, ended(&e))
	}
	if out.Wake != quorum.Never {
		fmt.Fprintf(&b, "wake at %v\n", out.Wake)
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

func asked(r *quorum.Request) string {
	switch r.Ask {
	case quorum.AskGrant:
		return fmt.Sprintf("grant %s above %d", r.Nonce, r.Floor)
	case quorum.AskMend:
		return fmt.Sprintf("mend %s above %d", r.Nonce, r.Floor)
	case quorum.AskRenew:
		return fmt.Sprintf("renew %s with %d", r.Nonce, r.Token)
	case quorum.AskRelease:
		return fmt.Sprintf("release %s with %d", r.Nonce, r.Token)
	default:
		return fmt.Sprintf("give back %s with %d", r.Nonce, r.Token)
	}
}

func ended(e *quorum.Ending) string {
	text := [...]string{"open", "done", "denied", "lost", "undecided", "repeated", "given up"}[e.Outcome]
	if e.Token != 0 {
		text += fmt.Sprintf(", token %d", e.Token)
	}
	if e.Rival.Nodes > 0 {
		text += fmt.Sprintf(", %s has %d nodes with token %d", e.Rival.Holder, e.Rival.Nodes, e.Rival.Token)
	}
	if e.Remaining > 0 {
		text += fmt.Sprintf(", again in %v", e.Remaining)
	}
	if e.Waiters > 0 {
		text += fmt.Sprintf(", %d wait", e.Waiters)
	}
	if e.Outcome == quorum.Undecided {
		for n, v := range e.Verdicts {
			text += fmt.Sprintf("; node %d %s", n, [...]string{"has not answered", "agrees", "denies", "is silent", "refuses for good"}[v])
			if e.Errs[n] != nil {
				text += fmt.Sprintf(" (%s)", strings.ReplaceAll(e.Errs[n].Error(), "\n", ": "))
			}
		}
	}
	return text
}

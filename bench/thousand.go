package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// state is what a process uses.
type state struct {
	goroutines, connections int
	heap                    float64
	cpu                     time.Duration
}

func look(links ...*link) state {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s := state{goroutines: runtime.NumGoroutine(), heap: float64(m.HeapAlloc + m.StackInuse)}
	for _, l := range links {
		s.connections += l.open()
	}
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) == nil {
		s.cpu = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return s
}

// thousand measures many elections in one process: one that leads in all of
// them, and one that waits in all of them. Each is a process of its own, or the
// libraries would pay for each other's garbage.
func thousand(ctx context.Context, s *server, e effort) (string, error) {
	var t table
	t.head(fmt.Sprintf("%d elections in one process", e.elections),
		"With one client, at a lease of 15 s. Each election has one goroutine of the bench's own, which asked for leadership; it is not counted. Memory is heap and stacks; the processor's share is of one core, while nothing happens but renewals and waiting.",
		"library", "as", "goroutines an election", "connections", "KiB an election", "share of a core")
	for _, l := range libraries[:3] {
		if err := inProcesses(ctx, s, l, e.elections, &t); err != nil {
			return "", fmt.Errorf("%s: %w", l.name, err)
		}
	}
	t.goal("A thousand that lead take at most 9 KiB each and 0.5 %% of a core together, a thousand that follow 7 KiB each.")
	return t.String(), nil
}

var positions = []string{"leader", "follower"}

// inProcesses starts the two processes of a library, one after the other, and
// ends both.
func inProcesses(ctx context.Context, s *server, l *library, elections int, t *table) error {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	for _, as := range positions {
		cmd := exec.CommandContext(ctx, own, "-elections", strconv.Itoa(elections), "-process", l.name+" "+as, "-server", s.addr)
		dieWithUs(cmd)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			return err
		}
		defer func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // killed: its status says nothing
		}()
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			return fmt.Errorf("the process of the %s ended: %w", as, err)
		}
		t.row(append([]string{l.name, as}, strings.Split(strings.TrimSpace(line), "|")...)...)
	}
	return nil
}

// process is one of the two: it prints its row and stays until it is killed.
func process(ctx context.Context, which, addr string, elections int) error {
	name, as, _ := strings.Cut(which, " ")
	i := slices.IndexFunc(libraries, func(l *library) bool { return l.name == name })
	if i < 0 || !slices.Contains(positions, as) {
		return fmt.Errorf("-process %q: it is a library and a position of %v", which, positions)
	}
	cells, err := elect(ctx, connect(addr), libraries[i], elections, as)
	if err != nil {
		return err
	}
	fmt.Println(strings.Join(cells, "|"))
	<-ctx.Done()
	return nil
}

func elect(ctx context.Context, s *server, l *library, elections int, as string) ([]string, error) {
	before := look()
	link := newLink(0)
	c, err := l.open(s, link, 15*time.Second)
	if err != nil {
		return nil, err
	}
	leading := make(chan term, elections)
	for i := range elections {
		candidate, err := c.candidate(fmt.Sprintf("thousand-%s-%d", l.name, i))
		if err != nil {
			return nil, err
		}
		go func() {
			if t, err := candidate.lead(ctx); err == nil {
				leading <- t
				<-ctx.Done()
			}
		}()
	}
	for began := time.Now(); as == "leader" && len(leading) < elections; {
		if time.Since(began) > patience {
			return nil, fmt.Errorf("only %d of %d elections have a leader after %v", len(leading), elections, patience)
		}
		if err := rest(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
	}
	if err := rest(ctx, 5*time.Second); err != nil {
		return nil, err
	}
	const window = 15 * time.Second
	settled := look(link)
	if err := rest(ctx, window); err != nil {
		return nil, err
	}
	after := look(link)
	if n := len(leading); as == "follower" && n > 0 {
		return nil, fmt.Errorf("the leaders of %d elections of %d were lost", n, elections)
	}
	n := float64(elections)
	return []string{
		figure(float64(settled.goroutines-before.goroutines-elections) / n), strconv.Itoa(after.connections),
		figure((settled.heap - before.heap) / 1024 / n), fmt.Sprintf("%.1f %%", 100*float64(after.cpu-settled.cpu)/float64(window)),
	}, nil
}

package reports

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/recount-io/recount/checker"
)

// FailoversCSV returns failovers.csv: a line for each failover.
func FailoversCSV(r *Failovers) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	head := []string{"cause", "elector", "run", "seed", "at_ms", "from", "to", "stalled"}
	for _, m := range metrics {
		head = append(head, m.name+"_ms")
	}
	_ = w.Write(head) // to memory: Error tells
	for i := range r.Cells {
		c := &r.Cells[i]
		for k := range c.Failovers {
			f := &c.Failovers[k]
			line := []string{c.Cause, c.Elector, strconv.FormatUint(r.number(c, f), 10), strconv.FormatUint(c.Runs[f.Run].Seed, 10), exact(f.AtMS), f.From, f.To, strconv.FormatBool(f.Stalled)}
			for _, m := range metrics {
				line = append(line, exact(m.of(f)))
			}
			_ = w.Write(line)
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return nil, fmt.Errorf("reports: failovers.csv: %w", err)
	}
	return b.Bytes(), nil
}

// number is that of the failover's run, from 1 on, as its folder has it: runs that were stopped
// have one, too.
func (r *Failovers) number(c *FailoverCell, f *MeasuredFailover) uint64 {
	return c.Runs[f.Run].Seed - r.Seed + 1
}

func exact(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// FailoversBenchmark returns failovers.txt, in the format of Go's benchmarks: a line for
// each failover, so that "benchstat before.txt after.txt" compares two measurements.
// (https://go.dev/design/14313-benchmark-format)
//
// The cause stands last, as benchstat takes a number at the end of a name, "elector-2", for
// that of processors. Blanks and slashes of a name are written as in the path of a URL.
func FailoversBenchmark(r *Failovers) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "world: %s\nlease: %s\nrenew: %s\nretry: %s\nnodes: %d\n\n", r.World, duration(r.LeaseMS), duration(r.RenewMS), duration(r.RetryMS), r.Nodes)
	for i := range r.Cells {
		c := &r.Cells[i]
		for k := range c.Failovers {
			f := &c.Failovers[k]
			if f.Stalled {
				continue
			}
			fmt.Fprintf(&b, "BenchmarkFailover/elector=%s/cause=%s 1", url.PathEscape(c.Elector), url.PathEscape(c.Cause))
			for _, m := range metrics[:3] {
				fmt.Fprintf(&b, " %.0f %s-ns", 1e6*m.of(f), m.name)
			}
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// FailoversJUnit returns junit.xml: a case for each cell, which fails where a promise was
// broken, and one for each gate.
func FailoversJUnit(r *Failovers) ([]byte, error) {
	s := junitSuite{Name: "failovers", Time: junitTime(r.TookMS), Timestamp: r.Started}
	trouble := func(c *junitCase, v checker.Verdict, text string) {
		switch v {
		case checker.Fail:
			c.Failure = &junitTrouble{Message: text}
		case checker.Unknown:
			c.Error = &junitTrouble{Message: text, Type: "undecided"}
		}
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		one := junitCase{Name: c.Cause, Class: "recount.failover." + c.Elector, Time: junitTime(0), Out: c.inShort()}
		if c.TotalMS.Count == 0 && c.Verdict != checker.Fail {
			one.Skipped = &junitTrouble{Message: or(c.Why, "no failover followed")}
		} else {
			var broken []string
			for _, b := range c.Broken {
				broken = append(broken, fmt.Sprintf("%s: %s", b.Name, b.Reason))
			}
			trouble(&one, c.Verdict, or(strings.Join(broken, "; "), "not every run is decided"))
		}
		s.add(one)
	}
	for _, g := range r.Gates {
		name := g.Text
		if g.Elector != "" && !strings.HasPrefix(name, g.Elector+"/") {
			name = g.Elector + "/" + name
		}
		one := junitCase{Name: name, Class: "recount.failover.gate", Time: junitTime(0), Out: g.Sentence}
		trouble(&one, g.Verdict, g.Sentence)
		s.add(one)
	}
	return junitFile(r.TookMS, s)
}

func (c *FailoverCell) inShort() string {
	if c.TotalMS.Count == 0 {
		return c.Why
	}
	return fmt.Sprintf("total %s; excess %s", c.TotalMS.Short(), c.ExcessMS.Short())
}

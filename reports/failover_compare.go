package reports

import (
	"fmt"
	"slices"

	"github.com/recount-io/recount/checker/contrast"
	"github.com/recount-io/recount/checker/quantile"
)

// Contrast is how a quantile of two samples differs, in one sentence.
type Contrast struct {
	Cause    string  `json:"cause"`
	One      string  `json:"one"`
	Other    string  `json:"other"`
	Figure   string  `json:"figure"` // "excess p50"
	Sentence string  `json:"sentence"`
	By       float64 `json:"by_ms"` // of the other; above 0: it is slower
	Sure     bool    `json:"sure"`  // chance does not explain it
}

// contrastOf compares a figure of two cells.
func contrastOf(one, other *FailoverCell, m metric, p float64) Contrast {
	a, b := one.sample(m), other.sample(m)
	d := contrast.Shift(a, b, p)
	least := min(len(slices.Concat(a...)), len(slices.Concat(b...)))
	c := Contrast{Cause: other.Cause, Figure: fmt.Sprintf("%s p%v", m.name, 100*p), By: d.Value}
	c.Sentence, c.Sure = difference(d, least, p)
	return c
}

// difference says what a comparison of samples, the smaller of which has so many values, came
// to: by how much the other side is slower or faster, or that it is not known to be, and then
// how large a difference would have been seen.
func difference(d contrast.Difference, least int, p float64) (sentence string, sure bool) {
	between := func(a, b float64) string { return fmt.Sprintf("by %s to %s ms", ms(a), ms(b)) }
	switch {
	case !d.Bounded():
		return fmt.Sprintf("too few: %s of each would tell", plural(max(quantile.Needs(p)-least, 1), "more failover")), false
	case d.Above(0):
		return "slower " + between(d.Low, d.High), true
	case d.Below(0):
		return "faster " + between(-d.High, -d.Low), true
	default:
		return fmt.Sprintf("no difference seen; one of %s ms would have been", ms(d.Detectable())), false
	}
}

// contrasted are the figures that comparisons are about.
var contrasted = []struct {
	metric metric
	p      float64
}{{metrics[0], .5}, {metrics[0], .9}, {metrics[1], .5}, {metrics[1], .9}}

// Beside names what cells are compared with; "" if there is nothing.
func (r *Failovers) Beside() string {
	if r.Baseline != nil {
		return "the baseline"
	}
	for i := range r.Cells {
		if _, name := r.base(&r.Cells[i]); name != "" {
			return name
		}
	}
	return ""
}

// base is what a cell is compared with: that of the baseline, or where there is none that of
// the first elector; nil if there is nothing.
func (r *Failovers) base(c *FailoverCell) (cell *FailoverCell, name string) {
	if r.Baseline != nil {
		return r.Baseline.cell(c.Cause, c.Elector), "the baseline"
	}
	first := r.Cells[slices.IndexFunc(r.Cells, func(o FailoverCell) bool { return o.Cause == c.Cause })]
	if first.Elector == c.Elector {
		return nil, ""
	}
	return r.cell(c.Cause, first.Elector), first.Elector
}

// contrasts compares each cell with its base.
func (r *Failovers) contrasts() (all []Contrast) {
	for i := range r.Cells {
		c := &r.Cells[i]
		base, name := r.base(c)
		if base == nil || c.TotalMS.Count == 0 {
			continue
		}
		for _, of := range contrasted {
			contrast := contrastOf(base, c, of.metric, of.p)
			contrast.One, contrast.Other = name, c.Elector
			all = append(all, contrast)
		}
	}
	return all
}

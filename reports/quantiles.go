package reports

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/checker/quantile"
)

// Quantiles sum up a sample, in milliseconds. Where Count is 0 the others mean nothing, and
// JSON leaves them out.
type Quantiles struct {
	Count         int
	Min, Max      float64
	P50, P90, P99 Quantile
}

// Quantile is the value of rank ceil(p × Count) in ascending order, always one that was
// measured; and between which values the true one lies, in at least 95 of 100 samples,
// whatever the distribution (checker/quantile). It is Bounded if the sample is large
// enough to say: of 6 values for the median, 29 for P90, 299 for P99. One that is not is
// printed nowhere: P99 of four values is their maximum. Then Value and High are 0, and Low is
// what the true one is at the least, 0 where even that is unknown.
type Quantile struct {
	Value, Low, High float64
	Bounded          bool
}

// String is the value, or a dash where it is not bounded.
func (q Quantile) String() string {
	if !q.Bounded {
		return "–"
	}
	return ms(q.Value)
}

// Interval is the value with its interval, or a dash where it is not bounded.
func (q Quantile) Interval() string {
	if !q.Bounded {
		return "–"
	}
	return fmt.Sprintf("%s (%s to %s)", ms(q.Value), ms(q.Low), ms(q.High))
}

// orLeast is Interval, or what the quantile is at the least.
func (q Quantile) orLeast() string {
	if !q.Bounded && q.Low > 0 {
		return "at least " + ms(q.Low)
	}
	return q.Interval()
}

// quantileNote says what stands in a table of quantiles.
func quantileNote() string {
	return fmt.Sprintf("Behind a quantile stands between which values the true one lies (95 %%). It takes %d failovers to tell p50, %d for p90 and %d for p99.",
		quantile.Needs(0.5), quantile.Needs(0.9), quantile.Needs(0.99))
}

// Short says in a few words what the sample can say: all of one value, from where to where
// few lie, and of more the median, P99 if it is bounded, and the longest.
func (q Quantiles) Short() string {
	switch {
	case q.Count == 0:
		return "–"
	case q.Count == 1:
		return ms(q.Max) + " ms"
	case !q.P50.Bounded:
		return fmt.Sprintf("%s to %s ms", ms(q.Min), ms(q.Max))
	case !q.P99.Bounded:
		return fmt.Sprintf("p50 %s, longest %s ms", ms(q.P50.Value), ms(q.Max))
	default:
		return fmt.Sprintf("p50 %s, p99 %s, longest %s ms", ms(q.P50.Value), ms(q.P99.Value), ms(q.Max))
	}
}

// quantilesObject is how quantiles stand in JSON: those that the sample does not bound are
// left out, and an empty sample has a count alone, as a 0 would be read as an instant failover.
type quantilesObject struct {
	Count    int         `json:"count"`
	Min      *float64    `json:"min,omitempty"`
	P50      *float64    `json:"p50,omitempty"`
	P50From  *[2]float64 `json:"p50_interval,omitempty"`
	P50Least float64     `json:"p50_at_least,omitempty"`
	P90      *float64    `json:"p90,omitempty"`
	P90From  *[2]float64 `json:"p90_interval,omitempty"`
	P90Least float64     `json:"p90_at_least,omitempty"`
	P99      *float64    `json:"p99,omitempty"`
	P99From  *[2]float64 `json:"p99_interval,omitempty"`
	P99Least float64     `json:"p99_at_least,omitempty"`
	Max      *float64    `json:"max,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (q Quantiles) MarshalJSON() ([]byte, error) {
	o := quantilesObject{Count: q.Count}
	if q.Count > 0 {
		o.Min, o.Max = &q.Min, &q.Max
	}
	put := func(q Quantile, value **float64, interval **[2]float64, least *float64) {
		if q.Bounded {
			*value, *interval = &q.Value, &[2]float64{q.Low, q.High}
		} else {
			*least = q.Low
		}
	}
	put(q.P50, &o.P50, &o.P50From, &o.P50Least)
	put(q.P90, &o.P90, &o.P90From, &o.P90Least)
	put(q.P99, &o.P99, &o.P99From, &o.P99Least)
	return json.Marshal(o)
}

// UnmarshalJSON implements json.Unmarshaler. What an older version wrote without an interval
// is not bounded.
func (q *Quantiles) UnmarshalJSON(text []byte) error {
	var o quantilesObject
	if err := json.Unmarshal(text, &o); err != nil {
		return err
	}
	*q = Quantiles{Count: o.Count}
	if o.Min != nil {
		q.Min = *o.Min
	}
	if o.Max != nil {
		q.Max = *o.Max
	}
	get := func(value *float64, interval *[2]float64, least float64) Quantile {
		if value != nil && interval != nil {
			return Quantile{*value, interval[0], interval[1], true}
		}
		return Quantile{Low: least}
	}
	q.P50, q.P90, q.P99 = get(o.P50, o.P50From, o.P50Least), get(o.P90, o.P90From, o.P90Least), get(o.P99, o.P99From, o.P99Least)
	return nil
}

func quantilesOf(sample []time.Duration) Quantiles {
	values := make([]float64, len(sample))
	for i, d := range sample {
		values[i] = millis(d)
	}
	return quantilesOfMS(values)
}

// quantilesOfMS sums up values in milliseconds.
func quantilesOfMS(values []float64) Quantiles {
	n := len(values)
	if n == 0 {
		return Quantiles{}
	}
	sorted := slices.Sorted(slices.Values(values))
	of := func(p float64) Quantile {
		e := quantile.Of(sorted, p)
		if !e.Bounded() {
			return Quantile{Low: max(0, e.Low)}
		}
		return Quantile{e.Value, e.Low, e.High, true}
	}
	return Quantiles{Count: n, Min: sorted[0], Max: sorted[n-1], P50: of(0.5), P90: of(0.9), P99: of(0.99)}
}

func quantilesFrom(count int, q checker.Quantiles) Quantiles {
	of := func(q checker.Quantile) Quantile {
		return Quantile{millis(q.Value), millis(q.Low), millis(q.High), q.Bounded}
	}
	return Quantiles{Count: count, Min: millis(q.Min), Max: millis(q.Max), P50: of(q.P50), P90: of(q.P90), P99: of(q.P99)}
}

package calls

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Features are what is drawn in a case, each in a word or two. Some bite in every
// case; whether others did, the run says.
func (c Case) Features() []string {
	set := map[string]bool{
		"elections:" + magnitude(c.Elections, 1, 8, few):                               true,
		"round trip:" + magnitude(int(c.RoundTrip.Microseconds()), 1000, 10000, 50000): true,
		"databases:" + magnitude(c.Databases, 1):                                       true,
		"prefixes:" + magnitude(c.Prefixes, 1):                                         true,
		"names:" + c.Names.String():                                                    true,
		"crowded:" + fmt.Sprint(c.Crowded()):                                           true,
	}
	if c.Onlooker > 0 {
		set["looks on"] = true
	}
	if c.LooksDeaf {
		set["looks on deaf"] = true
	}
	c.Greeting.features(func(feature string) { set["greeting:"+feature] = true })
	for _, m := range c.Processes {
		m.features(func(feature string) { set[feature] = true })
	}
	for _, a := range c.Acts {
		set["act:"+a.Kind.String()] = true
	}
	names := make([]string, 0, len(set))
	for name := range set {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// features tells those of a process.
func (m Behavior) features(tell func(string)) {
	for _, f := range []struct {
		name string
		has  bool
	}{
		{"call:" + m.Call.String(), true},
		{"works:" + m.Works.String(), m.Works != AtOnce},
		{"stops:" + m.Stops.String(), m.Stops != AtOnce && m.Call <= Once},
		{"tells:" + m.Tells.String(), m.Tells != AtOnce},
		{"logs:" + m.Logs.String(), m.Logs != AtOnce},
		{"ends", m.Ends > 0},
		{"lease", m.Lease > 0}, {"timing", m.Timing != Timing{}}, {"drift", m.Drift > 0}, {"skew", m.Skew != 0}, {"pool", m.Pool > 0},
		{"priority", m.Priority > 0}, {"failback", m.Failback},
		{"releases", m.rolls()}, {"blind", m.has(func(r Release) bool { return r.Blind })}, {"uncounted", m.has(func(r Release) bool { return r.Uncounted })},
		{"unprotected", m.has(func(r Release) bool { return r.Unprotected })}, {"expire", m.has(func(r Release) bool { return r.Expire > 0 })},
		{"foreign", m.Foreign}, {"deaf", m.Deaf}, {"watched", m.Watched}, {"barred", m.Barred}, {"begins", m.Begins}, {"publishes", m.Publishes > 0},
	} {
		if f.has {
			tell(f.name)
		}
	}
}

// magnitude names the class of a number among those that end at the bounds.
func magnitude(n int, bounds ...int) string {
	least := 0
	for _, most := range bounds {
		if n <= most {
			return fmt.Sprintf("%d-%d", least, most)
		}
		least = most + 1
	}
	return fmt.Sprintf("%d+", least)
}

// effects are the features that had an effect: those that the run has noted, and, if
// somebody was elected, those that have their effect in every such case.
func (r *run) effects() map[string]bool {
	for _, feature := range r.Features() {
		name, _, _ := strings.Cut(feature, ":")
		if len(r.bit) > 0 && slices.Contains([]string{"elections", "round trip", "databases", "prefixes", "crowded", "names", "greeting", "looks on"}, name) {
			r.bit[feature] = true
		}
	}
	return r.bit
}

// Cost grows with the time that a case takes: many small cases show as much as a large one.
func (c Case) Cost() float64 { return math.Sqrt(float64(4 + c.Elections*len(c.Processes))) }

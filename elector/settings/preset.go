package settings

import (
	"time"

	"github.com/recount-io/recount/elector"
)

// presets are the elector's, by their names.
var presets = map[string]func() elector.Config{
	"fast": elector.Fast, "balanced": elector.Balanced, "quiet": elector.Quiet,
}

// withPreset fills in what the preset says about durations that are not set.
func (s Settings) withPreset() Settings {
	preset := presets[s.Preset]
	if preset == nil {
		return s
	}
	c := preset()
	for _, d := range []struct {
		name      string
		value     *time.Duration
		otherwise time.Duration
	}{
		{"lease", &s.Lease, c.Lease},
		{"renew", &s.Renew, c.Renew},
		{"retry", &s.Retry, c.Retry},
		{"request-timeout", &s.RequestTimeout, c.RequestTimeout},
		{"drain-timeout", &s.DrainTimeout, c.DrainTimeout},
	} {
		if *d.value == 0 {
			*d.value = d.otherwise
			s.from(d.name, "the preset "+s.Preset)
		}
	}
	return s
}

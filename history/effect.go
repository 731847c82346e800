package history

// EffectOf says what a fault of that name does to its targets, for the events of
// older histories, which do not say so themselves. Of a name that the harness never
// gave to a fault nothing is known, and the Effect is the zero value. A program that
// writes histories of its own sets [Event.Effect].
func EffectOf(fault string) Effect { return effects[fault] }

// effects has the faults whose effect is not the zero value. A test of package
// faults holds it against what the faults say of themselves.
var effects = map[string]Effect{
	"partition":          {Cuts: true},
	"requests-lost":      {Cuts: true},
	"replies-lost":       {Cuts: true},
	"connection-refused": {Cuts: true},
	"connection-reset":   {Cuts: true},
	"pause":              {Cuts: true, Holds: true},
	"suspend":            {Cuts: true, Holds: true, Skews: true},
	"pause-before-write": {Holds: true},
	"clock-rate":         {Skews: true},
	"clock-jump":         {Skews: true},
	"store-pause":        {Holds: true},
	"store-clock-jump":   {Skews: true},
	StallFault:           {Holds: true},
}

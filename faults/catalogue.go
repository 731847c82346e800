package faults

// Catalogue is one example of every fault, in the order in which they are
// listed.
func Catalogue() []Fault {
	var all []Fault
	for _, how := range Cuts {
		all = append(all, Partition{How: how})
	}
	return append(all,
		Latency{}, Bandwidth{},
		Pause{}, PauseBeforeWrite{}, Crash{}, Resign{},
		ClockRate{}, ClockJump{},
		StorePause{}, StoreCrash{KeepData: true}, StoreCrash{}, StoreClockJump{}, KeyDeleted{}, ScriptsFlushed{},
	)
}

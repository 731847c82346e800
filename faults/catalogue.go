package faults

import "time"

// Catalogue is one example of every fault, in the order in which they are
// listed, with parameters that a run could have.
func Catalogue() []Fault {
	var all []Fault
	for _, how := range Cuts {
		all = append(all, Partition{How: how})
	}
	all = append(all,
		Latency{Base: 40 * time.Millisecond, Jitter: 10 * time.Millisecond}, Bandwidth{Kilobytes: 8},
		Pause{}, Suspend{}, PauseBeforeWrite{}, Crash{}, Resign{},
		ClockRate{Rate: 1.01}, ClockJump{Offset: time.Hour},
		StorePause{}, StoreCrash{KeepData: true}, StoreCrash{}, StoreRewind{By: 500 * time.Millisecond},
		StoreFailover{Lag: 500 * time.Millisecond}, StoreSplit{Lag: 500 * time.Millisecond},
		StoreClockJump{By: 500 * time.Millisecond}, TTLRemoved{}, KeyDeleted{}, KeyOverwritten{}, CounterDeleted{}, StoreFlush{}, Eviction{}, ScriptsFlushed{}, Transfer{},
		RightsWithdrawn{}, PasswordChanged{First: PasswordServer}, PasswordChanged{First: PasswordFile}, ConnectionsClosed{},
	)
	for _, answer := range Answers {
		all = append(all, StoreMoved{Answer: answer})
	}
	return all
}

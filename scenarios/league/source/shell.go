package source

// shellBugs are in package elector: sessions, calls, terms and callbacks.
func shellBugs() []Bug {
	return []Bug{
		{
			Name: "first-term-for-ever", Kind: Shell, Breaks: []string{calls, handOver},
			What: "the elector keeps its first term as the current one, so in all later ones it does not know that it leads",
			File: "elector/session.go", Old: "s.e.current.Store(s.term)", New: "s.e.current.CompareAndSwap(nil, s.term)",
		}, {
			Name: "knows-no-more", Kind: Shell, Breaks: []string{calls},
			What: "who observes an election is told of an error, and not that the store names the same leader again",
			File: "elector/observe.go", Old: "first, pause = true, o.Retry", New: "pause = o.Retry",
		}, {
			Name: "competes-while-calling", Kind: Shell, Breaks: []string{calls, "LeaderReturns"},
			What: "a candidate competes again as soon as its work has ended: it leads and works beside its OnStopped",
			File: "elector/work.go", Old: "Calling: s.work == callbackWork || s.onStopped != nil}", New: "Calling: false}",
		}, {
			Name: "panic-unreported", Kind: Shell, Breaks: []string{"LeaderReturns", calls},
			What: "work that panics is caught, and nobody is told that it has ended: its leader renews on and does nothing",
			File: "elector/work.go", Old: "\t\t\tended.Err = &PanicError{v, debug.Stack()}\n", New: "\t\t\tended.Err = &PanicError{v, debug.Stack()}\n\t\t\treturn\n",
		}, {
			Name: "panic-kills", Kind: Shell, Breaks: []string{calls},
			What: "a notification that panics takes the whole process with it",
			File: "elector/work.go", Old: "\t\t\tstack := string(debug.Stack())\n", New: "\t\t\tdefer panic(v)\n\t\t\tstack := string(debug.Stack())\n",
		}, {
			Name: "stopped-before-over", Kind: Shell, Breaks: []string{calls},
			What: "OnStopped is called when the work has ended, while the term still goes on",
			File: "elector/work.go", Old: "\t<-t.ended\n", New: "",
		}, {
			Name: "log-kills", Kind: Shell, Breaks: []string{calls},
			What: "a log that panics takes the whole process with it",
			File: "elector/event.go", Old: "\tdefer func() { _ = recover() }()\n", New: "",
		}, {
			Name: "no-overtime", Kind: Shell, Breaks: []string{"Stable", "LeaderReturns"},
			What: "a request is given up after its time-out, and its connection with it: a store that takes a little longer is never heard",
			File: "elector/call.go", Old: "limit(overtime * r.Timeout)", New: "limit(r.Timeout)",
		}, {
			Name: "answers-dropped", Kind: Shell, Breaks: []string{"Stable", "LeaderReturns"},
			What: "an answer that comes while the session is busy is dropped",
			File: "elector/inbox.go", Old: "\tif i.shut {\n", New: "\tif i.shut || i.busy {\n",
		}, {
			Name: "same-nonces-again", Kind: Shell, Breaks: []string{calls, "TokensIncrease"},
			What: "each session of an elector draws the same nonces: a campaign finds the lease of the one before, and takes it for the grant of a store that has lost its count",
			File: "elector/elector.go", Old: "\te.lastRequest = s.machine.LastRequest()\n", New: "\te.lastRequest, e.sessions = s.machine.LastRequest(), 0\n",
		}, {
			Name: "lost-is-active", Kind: Shell, Breaks: []string{calls},
			What: "a campaign is refused as a second one as long as the elector has not noticed that the term before is over",
			File: "elector/session.go", Old: "return s.ending.Load() || s.once && s.work == noWork && t != nil && t.session == s && !t.leads()", New: "return s.ending.Load() || t != nil && false",
			Unseen: "candidates of calls resign each term, and repeat a campaign when that has returned",
		}, {
			Name: "no-room-for-drift", Kind: Shell, Breaks: []string{calls},
			What: "a candidate whose clock is fast takes its own lease of the life before for that of another one of its name",
			File: "elector/call.go", Old: "held.Remaining + drift + time.Millisecond", New: "held.Remaining + 0*drift",
		}, {
			Name: "put-off-by-grants", Kind: Shell, Breaks: []string{calls},
			What: "a grant to somebody else puts the next try off by a whole lease: who waits is not heard of for two, and nobody can hand over to it",
			File: "internal/machine/candidate.go", Old: "min(due, m.now+min(in.Remaining, m.cfg.Lease)+roundUp+m.spread())", New: "max(due, m.now+min(in.Remaining, m.cfg.Lease)+roundUp+m.spread())",
		}, {
			Name: "renewals-are-news", Kind: Shell, Breaks: []string{calls},
			What: "a lease that was renewed just now counts as granted just now: who has lost the announcements does not notice",
			File: "elector/watcher.go", Old: "now-w.since < cfg.RequestTimeout", New: "cfg.Lease-held.Remaining < cfg.RequestTimeout",
		}, {
			Name: "alarm-forgets", Kind: Shell, Breaks: []string{"LeaderReturns", "Stable"},
			What: "of several sessions that are woken together the alarm wakes one, and forgets the others",
			File: "elector/alarm.go", Old: "\treturn rung\n", New: "\treturn rung[:min(1, len(rung))]\n",
		}, {
			Name: "asks-hold-slots", Kind: Shell, Breaks: []string{calls, "LeaseLinearizable"},
			What: "a question about who leads that is given up keeps its slot: after eight of them nobody can ask any more",
			File: "elector/call.go", Old: "\t\tdefer func() { <-slots }()\n\t\tvar a answer\n", New: "\t\tdefer func() {\n\t\t\tif ctx.Err() == nil {\n\t\t\t\t<-slots\n\t\t\t}\n\t\t}()\n\t\tvar a answer\n",
		},
	}
}

// answerBugs are in package elector, too: what callers are told, and what calls on terms
// that are over do.
func answerBugs() []Bug {
	return []Bug{
		{
			Name: "log-filled", Kind: Shell, Breaks: []string{calls},
			What: "what goes wrong again and again is logged each time",
			File: "elector/repeats.go", Old: "\tif now-one.said <= one.pause {\n", New: "\tif false {\n",
		}, {
			Name: "leads-without-clock", Kind: Shell, Breaks: []string{calls},
			What: "IsLeader says yes after the deadline, until the elector's goroutine runs again: in the moment in which a process goes on that stood still",
			File: "elector/term.go", Old: "return !t.over.Load() && !t.draining.Load() && t.session.clock.Now() < t.Until()", New: "return !t.over.Load() && !t.draining.Load()",
		}, {
			Name: "silence-untold", Kind: Shell, Breaks: []string{calls},
			What: "nobody is told that the store has been silent for longer than a lease",
			File: "internal/machine/request.go", Old: "\t\tm.emit(Transition{Kind: Unreachable, Err: m.refusal})\n", New: "",
		}, {
			Name: "hangs-untold", Kind: Shell, Breaks: []string{calls},
			What: "nobody is told of a callback that hangs, and keeps the candidate from competing",
			File: "internal/machine/leader.go", Old: "\t\tm.trouble(None, ErrCallbackHangs)\n", New: "",
		}, {
			Name: "nobody-unseen", Kind: Shell, Breaks: []string{calls},
			What: "Observe does not tell that nobody leads any more",
			File: "elector/observe.go", Old: "case first || now.ID != last.ID", New: "case now.ID == \"\":\n\t\tcase first || now.ID != last.ID",
		}, {
			Name: "transfer-at-once", Kind: Shell, Breaks: []string{calls},
			What: "Transfer returns before the lease is given back",
			File: "elector/transfer.go", Old: "\tselect {\n\tcase <-t.released:\n\tcase <-ctx.Done():\n\t\treturn ctx.Err()\n\t}\n\tswitch err := e.taken(ctx, t, to); {", New: "\tswitch err := error(nil); {",
		}, {
			Name: "old-term-fences", Kind: Shell, Breaks: []string{calls},
			What: "a resource that refuses a term which is over ends the one that goes on",
			File: "internal/machine/leader.go", Old: "if m.term.live && in.Token > m.term.token {", New: "if m.term.live {",
		},
	}
}

// hearsayBugs are in what is made of announcements, and of their absence.
func hearsayBugs() []Bug {
	return []Bug{
		{
			Name: "lies-are-remembered", Kind: Shell, Breaks: []string{handOver, "TokensIncrease"},
			What: "an announced token is believed whatever it is, and makes the true ones that follow look old",
			File: "internal/machine/candidate.go", Old: "\ta.freed, a.heard = a.missed, 0\n", New: "\ta.told = max(a.told, a.freed, a.heard)\n",
		}, {
			Name: "deaf-in-between", Kind: Shell, Breaks: []string{handOver, calls},
			What: "who listens anew does not ask whether the lease was given back meanwhile",
			File: "internal/machine/candidate.go", Old: "\t\ta.next = min(a.next, max(a.notBefore, a.rest, m.now+m.spread()))\n\t}\n}\n\n// turn is", New: "\t}\n}\n\n// turn is",
		}, {
			Name: "reserved-too-short", Kind: Shell, Breaks: []string{handOver, calls},
			What: "a lease is reserved for less time than passes between two requests of a successor that hears nothing",
			File: "internal/machine/request.go", Old: "return (m.cfg.Lease + m.cfg.Retry).Round(", New: "return (2*m.cfg.RequestTimeout + m.cfg.Retry).Round(",
		}, {
			Name: "waits-for-itself", Kind: Shell, Breaks: []string{calls},
			What: "work that calls Transfer waits for its own end, until DrainTimeout",
			File: "elector/transfer.go", Old: "\tcase t.inside():\n\t\treturn ErrInsideWork\n", New: "",
		}, {
			Name: "whoever-takes-it", Kind: Shell, Breaks: []string{calls},
			What: "Transfer returns nil whoever leads afterwards",
			File: "elector/transfer.go", Old: "for !called(now.ID, to) {", New: "for now.ID == \"\" && !called(now.ID, to) {",
		},
	}
}

// turnBugs are in package elector, too: how leaders take turns.
func turnBugs() []Bug {
	return []Bug{
		{
			Name: "works-on", Kind: Shell, Breaks: []string{"FailoverBound", "LeaderReturns"},
			What: "the work of a leader that is asked to stop is not told so",
			File: "elector/session.go", Old: "\t\ts.term.giveUp(Reason(t.Why.String()))\n", New: "\t\ts.term.draining.Store(true)\n",
		}, {
			Name: "over-is-not-told", Kind: Shell, Breaks: []string{"FailoverBound", "LeaderReturns", calls},
			What: "the context of a term that is lost is not cancelled",
			File: "elector/term.go", Old: "\tt.over.Store(true)\n\tt.cancel(fmt.Errorf(\"%w: %s\", ErrTermOver, why))\n", New: "\tt.over.Store(true)\n",
		}, {
			Name: "drains-for-the-heir", Kind: Shell, Breaks: []string{handOver},
			What: "a hand-over gives up the term before it names the heir, whose name comes too late",
			File: "elector/term.go", Old: "Holder: to})\n\t\tt.giveUp(event.ReasonResigned)", New: "Holder: \"\"})\n\t\tt.session.put(machine.Input{Kind: machine.Resign, Token: t.token, Holder: to})\n\t\tt.giveUp(event.ReasonResigned)",
		}, {
			Name: "to-whom-it-may-concern", Kind: Shell, Breaks: []string{handOver},
			What: "a hand-over goes to the first candidate on the list, not to the one that was named",
			File: "elector/transfer.go", Old: "!called(c.ID, to) || ", New: "",
		}, {
			Name: "called-by-half", Kind: Shell, Breaks: []string{handOver},
			What: "a candidate's name is what stands before the first slash of its identity, not before the last",
			File: "elector/transfer.go", Old: "strings.LastIndexByte(id, '/')", New: "strings.IndexByte(id, '/')",
		}, {
			Name: "to-the-dead", Kind: Shell, Breaks: []string{handOver},
			What: "a hand-over goes to the first candidate of the name that the store lists, be it that of a life before",
			File: "elector/transfer.go", Old: "best.ID == \"\" || c.Seen < best.Seen", New: "best.ID == \"\"",
		}, {
			Name: "back-to-equals", Kind: Shell, Breaks: []string{"Stable"},
			What: "a leader hands over to a candidate whose priority is no higher than its own",
			File: "elector/failback.go", Old: "c.Priority > best.Priority ||", New: "c.Priority >= best.Priority ||",
		}, {
			Name: "back-to-the-dead", Kind: Shell, Breaks: []string{"Stable", "LeaderReturns", handOver},
			What: "a leader hands over to a better candidate that has not been heard of for long",
			File: "elector/failback.go", Old: "s.e.gone(c) || ", New: "",
		}, {
			Name: "back-to-the-worst", Kind: Shell, Breaks: []string{"Stable", handOver},
			What: "a leader hands over to the candidate of the lowest priority of those that are better",
			File: "elector/failback.go", Old: "best := store.Candidate{Priority: s.e.cfg.Priority}\n\tfor _, c := range all {\n", New: "best := store.Candidate{Priority: s.e.cfg.Priority}\n\tfor _, c := range all {\n\t\tif best.ID != \"\" {\n\t\t\tbreak\n\t\t}\n",
		}, {
			Name: "only-who-has-led", Kind: Shell, Breaks: []string{"only the leader"},
			What: "a function for the leader only is executed by whoever has led last in this process",
			File: "elector/elector.go", Old: "\t\tif t == nil || !t.leads() {\n\t\t\treturn ErrNotLeading\n\t\t}\n\t\tctx, cancel", New: "\t\tif t == nil {\n\t\t\treturn ErrNotLeading\n\t\t}\n\t\tctx, cancel",
		},
	}
}

package source

// fenceBugs are in the guards of the protected resource.
func fenceBugs() []Bug {
	fenced := []string{"FencedWrites"}
	return []Bug{
		{
			Name: "guard-keeps-first", Kind: Fence, Breaks: fenced,
			What: "the guard in the process notes the first token that it admits, and no other",
			File: "elector/fence/guard.go", Old: "\tg.highest = token\n", New: "\tif g.highest == 0 {\n\t\tg.highest = token\n\t}\n",
		}, {
			Name: "memory-refuses-equal", Kind: Fence, Breaks: fenced,
			What: "the guard in memory takes a token for stale that is no larger than the highest",
			File: "elector/fence/memory.go", Old: "if token < h.highest {", New: "if token <= h.highest {",
		}, {
			Name: "memory-does-not-wait", Kind: Fence, Breaks: fenced,
			What: "the guard in memory admits a larger token while a write of a smaller one still goes on",
			File: "elector/fence/memory.go", Old: "if h.writes == 0 || h.running == token {", New: "if h.writes >= 0 {",
		}, {
			Name: "memory-has-one-fence", Kind: Fence, Breaks: fenced,
			What: "the guard in memory has one fence for all resources",
			File: "elector/fence/memory.go", Old: "\th := m.resources[name]\n", New: "\tname = \"\"\n\th := m.resources[name]\n",
		}, {
			Name: "memory-looks-once", Kind: Fence, Breaks: fenced,
			What: "who waits in the guard in memory for the end of another write is admitted then, although a larger token has been by now",
			File: "elector/fence/memory.go",
			Old:  "\tfor {\n\t\tif token < h.highest {\n\t\t\treturn nil, &StaleError{Token: token, Highest: h.highest}\n\t\t}\n\t\th.highest = token\n",
			New:  "\tif token < h.highest {\n\t\treturn nil, &StaleError{Token: token, Highest: h.highest}\n\t}\n\th.highest = token\n\tfor {\n",
		}, {
			Name: "redis-as-text", Kind: Fence, Breaks: fenced,
			What: "the guard in Redis compares tokens as text, where 9 comes after 10",
			File: "elector/fence/guarded.lua", Old: "  if #a ~= #b then return #a < #b end\n", New: "",
		}, {
			Name: "redis-notes-once", Kind: Fence, Breaks: fenced,
			What: "the guard in Redis notes the first token that it sees, and no other",
			File: "elector/fence/guarded.lua", Old: "if highest ~= token then", New: "if not highest then",
		}, {
			Name: "redis-by-key", Kind: Fence, Breaks: fenced,
			What: "the guard in Redis has a fence for each key, and not for all of one hash tag",
			File: "elector/fence/redis.go", Old: "tag, _, ok := strings.Cut(rest, \"}\"); ok && tag != \"\" {\n\t\t\treturn tag, nil", New: "tag, after, ok := strings.Cut(rest, \"}\"); ok && tag != \"\" {\n\t\t\treturn tag + after, nil",
		}, {
			Name: "handler-looks-first", Kind: Fence, Breaks: fenced,
			What: "the handler looks at the token before the request, and keeps nobody waiting while it goes on",
			File: "elector/fence/handler.go", Old: "return holder.Hold(ctx, token, resource)", New: "return func() {}, holder.Check(ctx, token, resource)",
		}, {
			Name: "guard-lets-go", Kind: Fence, Breaks: []string{"one step"},
			What: "the guard in the process looks at the token, and lets others pass before the write has begun",
			File: "elector/fence/guard.go",
			Old:  "\tif err := g.admit(token); err != nil {\n\t\treturn err\n\t}\n\treturn write()\n",
			New:  "\terr := g.admit(token)\n\tg.mu.Unlock()\n\tdefer g.mu.Lock()\n\tif err != nil {\n\t\treturn err\n\t}\n\treturn write()\n",
		}, {
			Name: "memory-forgets-who-gave-up", Kind: Fence, Breaks: []string{"in order", "highest"},
			What: "the guard in memory forgets the token of who has given up waiting for a former leader's write",
			File: "elector/fence/memory.go", Old: "\t\tif err := m.wait(ctx, h.idle); err != nil {\n", New: "\t\tif err := m.wait(ctx, h.idle); err != nil {\n\t\t\th.highest = h.running\n",
		}, {
			Name: "sent-is-unsent", Kind: Fence, Breaks: []string{"no trace"},
			What: "a request that was under way when its term ended is told as one that was never sent",
			File: "elector/fence/transport.go", Old: "\t\terr = sent(r, err)\n", New: "\t\terr = errors.Join(err)\n",
		},
	}
}

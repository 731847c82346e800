package virtual

import (
	"fmt"
	"slices"
	"strings"

	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// effects are what the scripts of a run did, in their order: what each call
// answered and left behind, and what was announced. A nil one notes nothing.
type effects struct{ all []string }

// executed notes a script's call on a server of the store, and returns its reply,
// which the next command on the server would overwrite.
func (f *effects) executed(s *serverStore, on *redismodel.Server, script *redismodel.Script, reply redismodel.Reply) redismodel.Reply {
	if f == nil {
		return reply
	}
	reply.Items = slices.Clone(reply.Items)
	look := func(args ...string) redismodel.Reply { return on.Do(s.now(), args...) }
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s at %v answers %v", script.Name, s.name, s.run.now, reply)
	fmt.Fprintf(&b, ", lease %v for %v ms, count %v", look("GET", s.keys.lease), look("PTTL", s.keys.lease), look("GET", s.keys.counter))
	for _, key := range []string{s.keys.guard, s.keys.candidatesKey} {
		fmt.Fprintf(&b, ", %s %q for %v ms", key, fields(look("HGETALL", key)), look("PTTL", key))
	}
	f.all = append(f.all, b.String())
	return reply
}

// fields are those of a hash, sorted.
func fields(r redismodel.Reply) (all []string) {
	for i := 0; i+1 < len(r.Items); i += 2 {
		all = append(all, r.Items[i].Text+": "+r.Items[i+1].Text)
	}
	slices.Sort(all)
	return all
}

// announced notes a message to those who listen.
func (f *effects) announced(s *serverStore, message string) {
	if f != nil {
		f.all = append(f.all, fmt.Sprintf("%s announces %q at %v", s.name, message, s.run.now))
	}
}

// part is the first effect in which two runs differ.
func (f *effects) part(other *effects) (one, another string, differ bool) {
	const none = "nothing"
	for i := range max(len(f.all), len(other.all)) {
		one, another = none, none
		if i < len(f.all) {
			one = f.all[i]
		}
		if i < len(other.all) {
			another = other.all[i]
		}
		if one != another {
			return one, another, true
		}
	}
	return "", "", false
}

package reports

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
)

// meaning states a promise in one sentence, as docs and reports give it.
func meaning(p checker.Promise) string {
	kept := checker.InWords(p).Kept
	if kept == "" {
		return ""
	}
	return upper(kept) + "."
}

// verdictWord is how a verdict reads in a sentence about a promise.
func verdictWord(v checker.Verdict) string {
	switch v {
	case checker.Pass:
		return "kept"
	case checker.Fail:
		return "broken"
	default:
		return "undecided"
	}
}

// headline says in one sentence how the run went.
func headline(r *Report) string {
	broken, undecided := r.withVerdict(checker.Fail), r.withVerdict(checker.Unknown)
	switch {
	case len(broken) == 0 && r.Probe != nil && r.Probe.Stopped != "":
		return "Stopped early to spare the Redis that others use: " + r.Probe.Stopped + "."
	case len(broken) > 0:
		return tally(r) + ": " + names(broken) + "."
	case len(undecided) > 0 && r.Verdict != checker.Fail:
		return tally(r) + ": " + names(undecided) + "."
	default:
		return tally(r) + "."
	}
}

// tally counts the promises that decided the verdict.
func tally(r *Report) string {
	broken, undecided, all := len(r.withVerdict(checker.Fail)), len(r.withVerdict(checker.Unknown)), len(r.Promises)
	switch {
	case broken > 0:
		return fmt.Sprintf("%d of %s broken", broken, plural(all, "promise"))
	case r.Verdict == checker.Fail:
		return "The run failed"
	case undecided > 0:
		return fmt.Sprintf("%d of %s undecided", undecided, plural(all, "promise"))
	case r.Verdict == checker.Pass && all == 1:
		return "The one promise that was asked for was kept"
	case r.Verdict == checker.Pass && all == 2:
		return "Both promises kept"
	case r.Verdict == checker.Pass:
		return fmt.Sprintf("All %d promises kept", all)
	default:
		return "Nothing could be decided: no promise was judged"
	}
}

func names(promises []Promise) string {
	out := make([]string, len(promises))
	for i, p := range promises {
		out[i] = string(p.Promise)
	}
	return strings.Join(out, ", ")
}

// uninjected says where a fault came from that nobody injected; "" for all others.
func uninjected(fault string) string {
	switch fault {
	case history.StallFault:
		return "not injected: the machine stalled"
	case history.StarvedFault:
		return "not injected: a process waited for a processor"
	case history.OverloadFault:
		return "not injected: the store was overloaded"
	default:
		return ""
	}
}

// meant says of a run's availability that its faults were meant to take it away; ""
// where none was, or nothing was taken away.
func meant(r *Report) string {
	injected := func(f checker.FaultCount) bool { return f.Effective > 0 && uninjected(f.Name) == "" }
	if r.LeaderlessMS == 0 || !slices.ContainsFunc(r.Faults, injected) {
		return ""
	}
	return "the faults were meant to take it away"
}

// joined are clauses, as far as there are any.
func joined(clauses ...string) string {
	return strings.Join(slices.DeleteFunc(clauses, func(s string) bool { return s == "" }), "; ")
}

// plural returns "1 fault" or "3 faults".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return thousands(n) + " " + noun + "s"
}

// thousands groups the digits of n: 12,345.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// eventOf finds the event with that number. In a history of ours it stands at
// its own index; in a foreign one it may not.
func eventOf(h *history.History, seq int64) (*history.Event, bool) {
	if seq >= 1 && seq <= int64(len(h.Events)) && h.Events[seq-1].Seq == seq {
		return &h.Events[seq-1], true
	}
	i := sort.Search(len(h.Events), func(i int) bool { return h.Events[i].Seq >= seq })
	if i < len(h.Events) && h.Events[i].Seq == seq {
		return &h.Events[i], true
	}
	return nil, false
}

// reference takes over what a report shows of an event. A fault stands with
// its targets.
func reference(e *history.Event) EventRef {
	return EventRef{
		Seq: e.Seq, AtMS: millis(e.At), Node: or(e.Node, strings.Join(e.Targets, ", ")), Kind: string(e.Kind),
		Election: e.Election, Token: e.Token, Text: Redact(describe(e)),
	}
}

// describe says in one clause what happened in an event.
func describe(e *history.Event) string {
	switch e.Kind {
	case history.Elected, history.Extended:
		if e.Until == nil {
			return "believes that it leads, until further notice"
		}
		return "believes that it leads until " + seconds(*e.Until)
	case history.Deposed:
		return "believes no longer (" + or(string(e.Why), "no reason given") + ")"
	case history.Fault:
		return describeFault(e)
	case history.Healed:
		return "every fault is off; progress is owed from here on"
	case history.Exit:
		return "the candidate's process ended (" + or(string(e.Why), "no reason given") + ")"
	case history.Start:
		return "the candidate's process began"
	case history.Note:
		return e.Text
	case history.Audit:
		applied := "applied"
		if e.Applied != nil && !*e.Applied {
			applied = "not applied"
		}
		return fmt.Sprintf("the store's own record: %s, %s", e.Call, applied)
	default:
		return describeCall(e)
	}
}

func describeFault(e *history.Event) string {
	text := e.Fault + " " + string(e.Phase)
	if e.Effective != nil && !*e.Effective {
		text += "; without effect"
	}
	if e.Evidence != "" {
		text += " (" + e.Evidence + ")"
	}
	return text
}

func describeCall(e *history.Event) string {
	text := or(string(e.Call), "call")
	if e.Op != 0 {
		text += fmt.Sprintf(" (operation %d)", e.Op)
	}
	switch e.Kind {
	case history.Invoke:
		text += " begins"
	case history.Ok:
		text += " took effect"
	case history.Fail:
		text += " refused"
	case history.Info:
		text += " ended with unknown outcome"
	}
	if e.Holder != "" {
		text += ", holder " + e.Holder
	}
	if e.Fence != 0 {
		text += fmt.Sprintf(", fence %d", e.Fence)
	}
	if e.Error != "" {
		text += ": " + e.Error
	}
	return text
}

// sentence ends a reason with one full stop.
func sentence(s string) string {
	if s == "" {
		return "No reason given."
	}
	return strings.TrimRight(s, ". ") + "."
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// seconds writes a time of the run with milliseconds: 12.345 s.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) + " s" }

// ms writes milliseconds for people: three significant digits or more, always
// in ms, so that columns compare.
func ms(x float64) string {
	switch abs := max(x, -x); {
	case x == 0:
		return "0"
	case abs >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case abs >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	default:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
}

// atSeconds is a time of the run, given in milliseconds, in seconds.
func atSeconds(x float64) string { return strconv.FormatFloat(x/1000, 'f', 3, 64) + " s" }

// duration writes milliseconds as the command line takes them: 1.5s.
func duration(x float64) string {
	d := time.Duration(x * float64(time.Millisecond))
	if d >= time.Second {
		d = d.Round(time.Millisecond)
	}
	return d.String()
}

// percent writes a share. It never rounds up to 100 %, nor down to 0 %.
func percent(x float64) string {
	switch {
	case x >= 1:
		return "100 %"
	case x > 0.9995:
		return "> 99.9 %"
	case x > 0 && x < 0.0005:
		return "< 0.1 %"
	default:
		return strconv.FormatFloat(100*x, 'f', 1, 64) + " %"
	}
}

// upper begins a sentence.
func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

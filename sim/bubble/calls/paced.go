package calls

import (
	"time"

	"github.com/recount-io/recount/history"
)

// How often electors ask the store, as Renew, Retry and RequestTimeout say.

// paced judges the requests of each candidate whose clock is right, by the record.
func (r *run) paced() {
	if r.Elections > few || r.far() || r.Has(Pause) {
		return
	}
	lives, paces := map[string][]*life{}, map[*candidate]*pace{}
	for _, l := range r.lived {
		lives[l.process.name] = append(lives[l.process.name], l)
	}
	now := map[string]*life{}
	for _, e := range r.recorder.History(r.header()).Events {
		if e.Kind == history.Start {
			now[e.Node], lives[e.Node] = lives[e.Node][0], lives[e.Node][1:]
		}
		if c := now[e.Node].candidate(e.Election); c != nil && c.behavior.Skew == 0 && c.behavior.Call <= Terms {
			if paces[c] == nil {
				paces[c] = &pace{candidate: c, open: map[int64]history.Event{}, granted: map[uint64]bool{}}
			}
			paces[c].take(e)
		}
	}
}

// candidate returns the life's candidate in the election of that name in the history, nil
// if there is none.
func (l *life) candidate(election string) *candidate {
	if l != nil {
		for _, c := range l.candidates {
			if c.name == election {
				return c
			}
		}
	}
	return nil
}

// pace follows the requests of a candidate. Events come in the order of their times.
type pace struct {
	candidate *candidate
	open      map[int64]history.Event // requests without an answer, by operation
	granted   map[uint64]bool         // leases, by token
	due       time.Duration           // when the next request must have been sent; 0: never
	why       string
	term      uint64        // that is believed in; 0: none
	began     time.Duration // when that term did
	until     time.Duration // its deadline
	renewals  int           // in it, without repetitions
	repeats   bool          // the next renewal is one
	failed    time.Duration // when the last renewal did; 0: it did not
	tried     uint64        // whose renewal was sent last
}

func (p *pace) take(e history.Event) {
	c := p.candidate
	p.check(e.At)
	switch {
	case e.Kind == history.Elected:
		p.term, p.began, p.until, p.renewals, p.repeats = e.Token, e.At, *e.Until, 0, false
		switch {
		case p.renewing(e.Token, 0):
		case p.tried == e.Token: // a renewal that was sent before this was told has failed
			p.expect(e.At+max(c.config.Renew, c.config.Retry), "it was elected")
		default:
			p.expect(e.At+c.config.Renew, "it was elected")
		}
	case e.Kind == history.Extended:
		p.until = *e.Until
	case e.Kind == history.Deposed:
		p.deposed(e)
	case e.Kind == history.Invoke && (e.Call == history.Acquire || e.Call == history.Renew):
		p.open[e.Op] = e
		p.tried = e.Token
		p.sent(e)
	case e.Kind == history.Invoke && e.Call == history.Release:
		p.gives(e)
	case e.Call == history.Acquire || e.Call == history.Renew:
		p.answered(e)
	}
}

// renewing reports whether a renewal of the term that was sent after that time has no answer
// yet.
func (p *pace) renewing(token uint64, after time.Duration) bool {
	for _, e := range p.open {
		if e.Call == history.Renew && e.Token == token && e.At > after {
			return true
		}
	}
	return false
}

// slack is for what is computed in milliseconds. A renewal may stand for one that is due a
// fiftieth of Renew later.
const slack = 2 * time.Millisecond

func (p *pace) expect(at time.Duration, why string) { p.due, p.why = at+slack, why }

// check looks whether the request that is due was sent before now.
func (p *pace) check(now time.Duration) {
	c := p.candidate
	if p.due == 0 || now <= p.due {
		return
	}
	if !c.life.leavesBefore(p.due) && (p.term == 0 || p.due < p.until) {
		p.find(askedInTime, "%s, and no request was sent from then to %v", p.why, p.due)
	}
	p.due = 0
}

// leavesBefore reports whether the life was asked to end, or ended, before that time, or
// whether the run ended.
func (l *life) leavesBefore(at time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.process.run
	return l.dead && l.died <= at || !l.asked.IsZero() && l.asked.Sub(r.began) <= at
}

// sent expects an answer within RequestTimeout, or the next request after that.
func (p *pace) sent(e history.Event) {
	cfg := p.candidate.config
	p.due = 0
	if e.Call == history.Renew && e.Token == p.term {
		if !p.repeats {
			p.renewals++
		}
		p.repeats = true // unless it is answered
		if least := p.failed + cfg.Retry/2 - slack; p.failed > 0 && e.At < least && !p.publishes() {
			p.find(fewRenewals, "a renewal failed at %v, and the next one was sent at %v: Retry is %v", p.failed, e.At, cfg.Retry)
		}
		p.failed = 0
		if gone := min(cfg.RequestTimeout, p.until-e.At); gone < p.until-e.At {
			p.expect(e.At+gone+cfg.Retry, "the renewal of "+e.At.String()+" was not answered within RequestTimeout")
		}
		return
	}
	if e.Call == history.Acquire {
		p.expect(e.At+cfg.RequestTimeout+cfg.Retry+cfg.Retry/4, "the request of "+e.At.String()+" was not answered within RequestTimeout")
	}
}

// answered expects the next request.
func (p *pace) answered(e history.Event) {
	cfg := p.candidate.config
	asked, open := p.open[e.Op]
	delete(p.open, e.Op)
	renewal := e.Call == history.Renew && p.term != 0 && asked.Token == p.term
	late := !open || e.At >= asked.At+cfg.RequestTimeout
	if e.Call == history.Acquire && e.Kind == history.Ok {
		p.granted[e.Token] = true
	}
	switch {
	case late && e.Kind == history.Info: // it was given up
	case renewal && p.renewing(p.term, asked.At): // an answer of before, while the next one is waited for
	case renewal && e.Kind == history.Ok:
		p.repeats = late
		p.expect(e.At+cfg.Renew+cfg.Renew/50, "a renewal was answered at "+e.At.String())
	case renewal && e.Kind == history.Info:
		p.failed = e.At
		p.expect(e.At+cfg.Retry, "a renewal failed at "+e.At.String())
	case e.Call == history.Acquire && e.Kind == history.Info && p.term == 0:
		p.expect(e.At+max(cfg.Retry, cfg.Renew)*5/4, "a request failed at "+e.At.String())
	default:
		p.due = 0
	}
}

// deposed looks how often the term was renewed.
func (p *pace) deposed(e history.Event) {
	c := p.candidate
	lasted, step := e.At-p.began, c.config.Renew-c.config.Renew/50-time.Millisecond
	if most := int(lasted/max(step, 1)) + 2; p.term != 0 && !p.publishes() && p.renewals > most {
		p.find(fewRenewals, "term %d lasted %v and was renewed %d times: Renew is %v", p.term, lasted, p.renewals, c.config.Renew)
	}
	p.term, p.due = 0, 0
}

// publishes reports whether the candidate may have published a value, which the next renewal
// carries at once.
func (p *pace) publishes() bool {
	c := p.candidate
	return c.behavior.Publishes > 0 || c.behavior.Begins || c.run.Has(Publish)
}

// gives expects of a lease that is given back that the candidate was granted it.
func (p *pace) gives(e history.Event) {
	if !p.granted[e.Token] && !p.candidate.run.Has(Message) { // somebody else may have told it of a grant
		p.find(givesOwn, "it gives back the lease of token %d, which it was not granted", e.Token)
	}
}

// find notes that an obligation was broken, in a run that is over.
func (p *pace) find(obligation, format string, args ...any) {
	c := p.candidate
	c.run.Find(obligation, "%s of %s: "+format, append([]any{c.name, c.life.process.name}, args...)...)
}

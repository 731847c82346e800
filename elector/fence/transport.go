package fence

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Term is what Transport needs of a term. *elector.Term is one.
type Term interface {
	Token() uint64
	Check(min time.Duration) error
}

// Transport is an http.RoundTripper for the requests of one term: each gets the
// term's token as its header Fencing-Token, and none is sent when the term is
// over. It is safe for concurrent use. Make one for each term, never one that
// looks up the current term: a request must carry the token of the term in
// which it was decided.
//
// It makes former leaders' requests rare. That they do no harm is up to the
// receiver (Handler): a request may be under way when the term ends. Give it
// Term.Context, and what waits for an answer stops as well.
type Transport struct {
	Term Term              // required
	Base http.RoundTripper // default http.DefaultTransport

	// Min is how much of the term must be left for a request to be sent: the
	// time that requests usually take. Default 0.
	Min time.Duration

	_ struct{}
}

var _ http.RoundTripper = (*Transport)(nil)

// RoundTrip sends the request if the term goes on. The request was not sent if
// the error wraps elector.ErrTermOver or elector.ErrTermShort, or if the request
// already carries another token. One that was sent and is given up because its
// context is done, be it the term's, may have been executed: its error wraps the
// context's Err, and not its cause. Answers are not looked at: see StaleFrom.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	token := strconv.FormatUint(t.Term.Token(), 10)
	if err := t.check(r, token); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // as RoundTripper demands; it was only to be read
		}
		return nil, err
	}
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	r = r.Clone(r.Context()) // which belongs to the caller
	r.Header.Set(HeaderToken, token)
	answer, err := base.RoundTrip(r)
	if err != nil {
		err = sent(r, err)
	}
	return answer, err
}

// sent is the error of a request that was sent. http.Transport returns the cause of the
// request's context, and that of Term.Context is elector.ErrTermOver, which says here
// that nothing was sent.
func sent(r *http.Request, err error) error {
	cause, ended := context.Cause(r.Context()), r.Context().Err()
	if ended == nil || errors.Is(ended, cause) || !errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("fence: %s %s was given up, and may have been executed: %w (%v)", r.Method, r.URL.Redacted(), ended, cause) //nolint:errorlint // the cause must not be wrapped
}

func (t *Transport) check(r *http.Request, token string) error {
	if token == "0" {
		return ErrNoToken
	}
	for _, other := range r.Header.Values(HeaderToken) {
		if other != token {
			return fmt.Errorf("fence: %s %s was not sent: it has token %.30q, and this term has %s; send it with the term in which it was decided", r.Method, r.URL.Redacted(), other, token)
		}
	}
	if err := t.Term.Check(t.Min); err != nil {
		return fmt.Errorf("fence: %s %s was not sent with token %s: %w", r.Method, r.URL.Redacted(), token, err)
	}
	return nil
}

// StaleFrom returns a *StaleError if the answer is Handler's refusal of a stale
// token, and nil for any other. It leaves the body alone, which remains the
// caller's to close.
func StaleFrom(answer *http.Response) error {
	if answer.StatusCode != http.StatusPreconditionFailed {
		return nil
	}
	token, err := ParseToken(answer.Header.Get(HeaderToken))
	if err != nil {
		return nil
	}
	highest, err := ParseToken(answer.Header.Get(HeaderHighest))
	if err != nil {
		return nil
	}
	return &StaleError{Token: token, Highest: highest}
}

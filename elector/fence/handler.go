package fence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// The headers of fenced requests and of their answers.
const (
	// HeaderToken is the header of a request with the token, in decimal.
	HeaderToken = "Fencing-Token"

	// HeaderHighest is the header of a refusal with the token that the
	// resource has seen.
	HeaderHighest = "Fencing-Token-Highest"
)

// HandlerOptions change what Handler does. The zero value is fine.
type HandlerOptions struct {
	// Resource names what a request is for. All requests are for one resource
	// by default, as befits a service with one election of those who write
	// to it. An error is answered with 400.
	Resource func(*http.Request) (string, error)

	// Open tells of a request that needs no token, such as one that reads. It
	// passes without one; but if it carries a token, this is checked. By
	// default no request passes without a token.
	Open func(*http.Request) bool

	// Failed hears of requests that were refused because the guard failed.
	Failed func(*http.Request, error)

	_ struct{}
}

// Handler lets requests pass to next whose header Fencing-Token the guard
// admits. The token is in the request's context then: see TokenFrom. Else the
// answer is a JSON object with the reason as "error" and the status is
//
//	428 if there is no token
//	400 if it is no decimal number from 1 to 2^64-1, or there are several
//	412 if it is stale: the body has "token" and "fence", as text, and the
//	    header Fencing-Token-Highest is the fence, Fencing-Token the token
//	503 if the guard failed; nothing is known then
//
// The status of a stale token is 412 and not 409, because the condition stood
// in a header of the request, and because many clients repeat after 409 what
// must not be repeated: the leader's term is over. StaleFrom makes a
// *StaleError of it.
//
// If the guard is a Holder, as *Memory is, no larger token is admitted until
// next has returned; requests of one token run beside one another. Otherwise a
// larger one may pass while next still works, and what next writes must be
// guarded again where it is written, with the token from the context. A guard
// that forgets its tokens when the process restarts (*Memory) admits a former
// leader's until it sees a newer one; RedisGuard and SQL.On remember.
func Handler(next http.Handler, guard Checker, o HandlerOptions) http.Handler {
	if next == nil || guard == nil {
		panic("fence: Handler needs a handler and a guard, and was given nil")
	}
	return &handler{next, guard, o}
}

type handler struct {
	next  http.Handler
	guard Checker
	o     HandlerOptions
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	values := r.Header.Values(HeaderToken)
	if len(values) == 0 {
		if h.o.Open != nil && h.o.Open(r) {
			h.next.ServeHTTP(w, r)
			return
		}
		refuse(w, http.StatusPreconditionRequired, refusal{Error: "the request has no header " + HeaderToken + ": send the token of the term in which it was decided"})
		return
	}
	token, err := ParseToken(values[0])
	if len(values) > 1 {
		err = fmt.Errorf("the request has %d headers %s: send one", len(values), HeaderToken)
	}
	resource := "http"
	if err == nil && h.o.Resource != nil {
		resource, err = h.o.Resource(r)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, refusal{Error: strings.TrimPrefix(err.Error(), "fence: ")})
		return
	}
	release, err := hold(r.Context(), h.guard, token, resource)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	defer release() // also when next panics
	h.next.ServeHTTP(w, r.WithContext(WithToken(r.Context(), token)))
}

// hold keeps larger tokens waiting if the guard can.
func hold(ctx context.Context, guard Checker, token uint64, resource string) (release func(), err error) {
	if holder, ok := guard.(Holder); ok {
		return holder.Hold(ctx, token, resource)
	}
	return func() {}, guard.Check(ctx, token, resource)
}

// refusal is the body of an answer. Tokens are text: numbers are exact to 2^53
// only in many readers of JSON.
type refusal struct {
	Error string `json:"error"`
	Token string `json:"token,omitempty"`
	Fence string `json:"fence,omitempty"`
}

func (h *handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var stale *StaleError
	if errors.As(err, &stale) {
		fence := strconv.FormatUint(stale.Highest, 10)
		w.Header().Set(HeaderHighest, fence)
		w.Header().Set(HeaderToken, strconv.FormatUint(stale.Token, 10))
		refuse(w, http.StatusPreconditionFailed, refusal{
			Error: "the token is stale: somebody else leads since; stop working on this term",
			Token: strconv.FormatUint(stale.Token, 10), Fence: fence,
		})
		return
	}
	if h.o.Failed != nil {
		h.o.Failed(r, err)
	}
	// The error itself may name what is none of the client's business.
	refuse(w, http.StatusServiceUnavailable, refusal{Error: "the fence could not be asked, and nothing was done: try again with the same token"})
}

func refuse(w http.ResponseWriter, status int, body refusal) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that has gone hears nothing
}

// ParseToken reads a token from a header or a message: a decimal number from 1
// to 2^64-1, without sign, leading zeros or spaces.
func ParseToken(text string) (uint64, error) {
	token, err := strconv.ParseUint(text, 10, 64)
	if err != nil || token == 0 || strconv.FormatUint(token, 10) != text {
		return 0, fmt.Errorf("fence: %.30q is no token: it must be a decimal number from 1 to 2^64-1, as Term.Token gives it", text)
	}
	return token, nil
}

type tokenKey struct{}

// WithToken puts a token into a context, for writes further down.
func WithToken(ctx context.Context, token uint64) context.Context {
	return context.WithValue(ctx, tokenKey{}, token)
}

// TokenFrom is the token that Handler admitted or WithToken put into the
// context; 0, which every guard refuses, if there is none.
func TokenFrom(ctx context.Context) uint64 {
	token, _ := ctx.Value(tokenKey{}).(uint64)
	return token
}

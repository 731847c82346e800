package candidate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/sim/protocol"
)

// readEvery is how many writes a leader makes between two reads.
const readEvery = 10

// worker does a leader's work: it writes to the protected resource with its
// token, all the time.
type worker struct {
	settings Settings
	client   *http.Client
}

func newWorker(s Settings) *worker {
	return &worker{settings: s, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2}}}
}

// lead writes until the term is over. A write that is on its way when that
// happens is finished: that is what the token is for.
func (w *worker) lead(ctx context.Context, term *elector.Term) {
	pace := time.NewTicker(w.settings.Writes)
	defer pace.Stop()
	for n := 1; term.Check(0) == nil; n++ {
		accepted, fence := w.write(term.Token(), n)
		term.Refused(fence)
		if !accepted {
			return
		}
		if n%readEvery == 0 {
			w.read()
		}
		select {
		case <-ctx.Done():
			return
		case <-pace.C:
		}
	}
}

// write makes one write and reports whether it makes sense to go on, and the
// fence if not.
func (w *worker) write(token uint64, n int) (accepted bool, fence uint64) {
	body, err := json.Marshal(protocol.WriteRequest{
		Node: w.settings.Node, Election: w.settings.Election, Token: token,
		Value: fmt.Sprintf("%s/%d/%d", w.settings.Node, token, n),
	})
	if err != nil {
		panic("candidate: a write does not marshal: " + err.Error())
	}
	reply, err := w.client.Post(w.settings.Resource+"/write", "application/json", bytes.NewReader(body))
	if err != nil {
		return true, 0 // the resource is elsewhere for a moment: the elector decides about leading, not this
	}
	defer reply.Body.Close()
	var answer protocol.WriteReply
	_ = json.NewDecoder(reply.Body).Decode(&answer) // of another answer the status is enough
	_, _ = io.Copy(io.Discard, reply.Body)          // read to its end so that the connection is used again
	return reply.StatusCode == http.StatusOK, answer.Fence
}

func (w *worker) read() {
	query := url.Values{"node": {w.settings.Node}, "election": {w.settings.Election}}
	reply, err := w.client.Get(w.settings.Resource + "/read?" + query.Encode())
	if err != nil {
		return
	}
	defer reply.Body.Close()
	_, _ = io.Copy(io.Discard, reply.Body)
}

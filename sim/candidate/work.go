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
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/protocol"
)

// Resource is the protected resource, as its clients see it.
type Resource interface {
	// Write makes a write. An error means that nobody knows what became of it.
	Write(protocol.WriteRequest) (protocol.WriteReply, error)
	// Read reads what was written last.
	Read(node, election string)
}

// worker does a leader's work: it writes to the protected resource with its
// token, all the time.
type worker struct {
	settings Settings
	resource Resource
}

func newWorker(s Settings, r Resource) *worker { return &worker{settings: s, resource: r} }

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
		if n%sim.ReadEvery == 0 {
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
	answer, err := w.resource.Write(protocol.WriteRequest{
		Node: w.settings.Node, Election: w.settings.Election, Token: token,
		Value: fmt.Sprintf("%s/%d/%d", w.settings.Node, token, n),
	})
	if err != nil {
		return true, 0 // the resource is elsewhere for a moment: the elector decides about leading, not this
	}
	return answer.Accepted, answer.Fence
}

func (w *worker) read() { w.resource.Read(w.settings.Node, w.settings.Election) }

// web is the protected resource at its URL.
type web struct {
	url    string
	client *http.Client
}

var _ Resource = (*web)(nil)

func overHTTP(s Settings) *web {
	return &web{url: s.Resource, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2}}}
}

// Write implements Resource.
func (w *web) Write(write protocol.WriteRequest) (answer protocol.WriteReply, err error) {
	body, err := json.Marshal(write)
	if err != nil {
		panic("candidate: a write does not marshal: " + err.Error())
	}
	reply, err := w.client.Post(w.url+"/write", "application/json", bytes.NewReader(body))
	if err != nil {
		return answer, err
	}
	defer reply.Body.Close()
	_ = json.NewDecoder(reply.Body).Decode(&answer) // of another answer the status is enough
	_, _ = io.Copy(io.Discard, reply.Body)          // read to its end so that the connection is used again
	answer.Accepted = reply.StatusCode == http.StatusOK
	return answer, nil
}

// Read implements Resource.
func (w *web) Read(node, election string) {
	query := url.Values{"node": {node}, "election": {election}}
	reply, err := w.client.Get(w.url + "/read?" + query.Encode())
	if err != nil {
		return
	}
	defer reply.Body.Close()
	_, _ = io.Copy(io.Discard, reply.Body)
}

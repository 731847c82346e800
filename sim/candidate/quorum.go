package candidate

import (
	"errors"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/quorumstore"
	"github.com/recount-io/recount/elector/redisstore"
)

// openStore is a store that can be closed.
type openStore struct {
	elector.Store
	close func() error
}

// openAny opens what the environment names, with every call recorded.
func (h *Host) openAny(o redisstore.Options) (openStore, error) {
	if len(h.RedisURLs) > 0 {
		return h.openQuorum(o)
	}
	store, err := h.open(o)
	if err != nil {
		return openStore{}, err
	}
	return openStore{h.Recorded(store), store.Close}, nil
}

// openQuorum opens the store that a majority of several Redis make up.
func (h *Host) openQuorum(o redisstore.Options) (openStore, error) {
	var nodes []elector.Store
	var closes []func() error
	all := func() error {
		var errs []error
		for _, one := range closes {
			errs = append(errs, one())
		}
		return errors.Join(errs...)
	}
	for _, url := range h.RedisURLs {
		node, err := h.openURL(url, o)
		if err != nil {
			return openStore{}, errors.Join(err, all())
		}
		nodes, closes = append(nodes, node), append(closes, node.Close)
	}
	store, err := quorumstore.New(nodes, quorumstore.Options{
		Now: h.Clock.Now,
		OnError: func(node, call string, err error) {
			h.Logger.Debug("a node of the store failed", "node", node, "call", call, "error", err)
		},
	})
	if err != nil {
		return openStore{}, errors.Join(err, all())
	}
	return openStore{&recordedStore{Store: store, node: h.Node, out: h.out, several: true}, all}, nil
}

package inspection

import (
	"context"
	"slices"
	"strings"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/redisstore"
)

// tryScripts lets the store of the elector run its scripts, as it does before an election,
// and says what they are refused.
func (i *inspector) tryScripts(ctx context.Context) error {
	store, err := redisstore.FromClient(i.client, redisstore.Options{Prefix: i.need.Prefix + RunMark, Audit: true})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }() // the client stays
	found, err := store.Preflight(ctx)
	if err != nil {
		return i.lost(err)
	}
	var refused []string
	for _, f := range found.Findings {
		if f.Severity == elector.SeverityError && slices.Contains(scriptSubjects, f.Subject) {
			refused = append(refused, f.Text+"; "+f.Fix)
		}
	}
	if len(refused) == 0 {
		return nil
	}
	return i.unsuitable("cannot run the elector's scripts: %s", strings.Join(refused, "; "))
}

// scriptSubjects are the findings about scripts. Of everything else the inspection tells
// by itself.
var scriptSubjects = []string{"scripts", "slots"}

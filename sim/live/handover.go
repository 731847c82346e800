package live

import (
	"cmp"
	"context"
	"fmt"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim/protocol"
)

// HandOver implements faults.World: the candidate gets a command, and answers
// when somebody else leads.
func (w *world) HandOver(ctx context.Context, node string) (string, error) {
	p, err := w.candidates[node].running()
	if err != nil {
		return "", err
	}
	for len(p.handed) > 0 {
		<-p.handed // what it said unasked
	}
	if err := p.command(protocol.Command{Command: protocol.CommandTransfer}); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	select {
	case answer := <-p.handed:
		if answer.Error != "" {
			return "", faults.NoEffect("%s did not hand its lease over: %s", node, answer.Error)
		}
		return fmt.Sprintf("%s handed its lease over to %s", node, cmp.Or(answer.Holder, "another candidate")), nil
	case <-p.done:
		return "", faults.NoEffect("%s ended meanwhile", node)
	case <-ctx.Done():
		return "", faults.NoEffect("%s did not say within %v that it handed its lease over", node, actTime)
	}
}

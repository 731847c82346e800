package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/elector"
)

func (m Main) serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Compete, and tell over HTTP whether this candidate leads",
		Long: `serve is for a program beside it that runs all the time and works only while this
candidate leads, as in the containers of one pod. The program asks GET /leader:

  200   this candidate leads, and will for at least --grace more
  503   do not work

and stops its work at any answer but 200. If it asks at least once in every
--grace, and needs no longer than that to stop, it has stopped before anybody
else is elected. The answer is JSON with the fencing token, to be sent with
every write.

When serve is asked to stop it answers 503 at once, and keeps the lease for
--grace, so that the program beside it has the time to notice.`,
		Example: "  elect serve --store redis://db --name billing --http 127.0.0.1:8080",
		Args:    usage.NoArguments,
	}
	f := &runFlags{options: addOptions(cmd, "once")}
	f.add(cmd, "how long who asks may take to ask again and to stop (default: a fifth of the lease)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return m.serve(cmd.Context(), f) }
	return cmd
}

func (m Main) serve(ctx context.Context, f *runFlags) error {
	if f.http == "" {
		return usage.Of(fmt.Errorf("no address is given: add --http 127.0.0.1:8080, or another one"))
	}
	outliveReaders()
	defer catch(func(syscall.Signal) {})() // the program beside it has its own
	c, err := m.candidacy(f)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var term atomic.Pointer[elector.Term]
	c.term = &term
	c.work = func(ctx context.Context, t *elector.Term) {
		term.Store(t)
		<-ctx.Done()
		if t.Remaining() == 0 {
			return // lost: there is nothing to keep
		}
		kept := make(chan struct{})
		elector.SystemClock().AfterFunc(c.timing.grace, func() { close(kept) })
		<-kept
	}
	return c.run(ctx, stop)
}

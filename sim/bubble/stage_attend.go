package bubble

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim/bubble/redisserver"
	"github.com/recount-io/recount/sim/stage"
)

// unfit is what a server answers that is no primary any more.
func unfit(answer faults.Answer) redisserver.Unfitness {
	i := slices.IndexFunc(redisserver.Unfit, func(u redisserver.Unfitness) bool { return strings.HasPrefix(u.Text, string(answer)) })
	if i < 0 {
		return redisserver.Unfitness{} // a replica refuses writes by itself
	}
	return redisserver.Unfit[i]
}

// settles is by far longer than what a primary has written takes to a replica.
const settles = 5 * time.Millisecond

// MoveStore implements faults.World. The former primary stands still until its successor has
// all that it has. Then it answers what was sent meanwhile as one that was demoted.
func (w *world) MoveStore(ctx context.Context, answer faults.Answer) (string, error) {
	s := w.store
	former := s.server
	if !former.Answers() {
		return "", errDown
	}
	i := slices.IndexFunc(s.members, func(m Server) bool { return m != former && m.Answers() })
	if i < 0 {
		i = len(s.members)
		s.enlist().Follow(former)
	}
	successor := s.members[i]
	stage.Sleep(ctx, settles)
	former.Freeze()
	stage.Sleep(ctx, settles)
	successor.Promote()
	s.server = successor
	if answer == faults.ReadOnly {
		former.Follow(successor)
	}
	former.Refuse(unfit(answer))
	former.Thaw()
	left := 0
	for _, n := range w.nodes {
		left += s.wayOf(n).Connections()
		s.guide(n, live)
	}
	if left == 0 {
		return "", faults.NoEffect("no candidate was connected to the former primary")
	}
	return fmt.Sprintf("%d connections still lead to the former primary, which answers %s", left, answer), ctx.Err()
}

// CloseConnections implements faults.World.
func (w *world) CloseConnections(context.Context) (string, error) {
	if !w.store.server.Open() {
		return "", errDown
	}
	w.store.breakWays(func(string) bool { return true })
	return "the store closed every connection", nil
}

// WithdrawRights implements faults.World: it is all the same which commands the user may
// not use, where candidates do everything by scripts.
func (w *world) WithdrawRights(context.Context) (string, error) {
	if !w.store.server.Answers() {
		return "", errDown
	}
	none := redisserver.Unfitness{Text: "NOPERM this user has no permissions to run the 'evalsha' command"}
	w.store.server.Refuse(none)
	return fmt.Sprintf("the store answers %q", none.Text), nil
}

// RestoreRights implements faults.World.
func (w *world) RestoreRights(context.Context) (string, error) {
	w.store.server.Refuse(redisserver.Unfitness{})
	return "", nil
}

// ChangePassword implements faults.World.
func (w *world) ChangePassword(context.Context, faults.PasswordSide) (string, error) {
	return "", errOpen
}

// AlignPassword implements faults.World.
func (w *world) AlignPassword(context.Context, faults.PasswordSide) (string, error) {
	return "", errOpen
}

// errOpen is why no password is changed.
var errOpen = faults.NoEffect("the servers of a bubble ask nobody for a password")

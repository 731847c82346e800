package faults_test

import (
	"context"
	"fmt"
	"time"

	"github.com/recount-io/recount/faults"
)

// recordingWorld writes down what it is asked for. Acts in broken fail.
type recordingWorld struct {
	calls  []string
	broken map[string]error // by the call's text
}

var _ faults.World = (*recordingWorld)(nil)

func (w *recordingWorld) did(call string, args ...any) (string, error) {
	for _, a := range args {
		call += fmt.Sprint(" ", a)
	}
	w.calls = append(w.calls, call)
	if err := w.broken[call]; err != nil {
		return "", err
	}
	return "saw " + call, nil
}

func silent(_ string, err error) error { return err }

func (w *recordingWorld) Each(n int, act func(i int)) {
	for i := range n {
		act(i)
	}
}

func (w *recordingWorld) Cut(_ context.Context, node string, how faults.Cut) (string, error) {
	return w.did("Cut", node, how)
}

func (w *recordingWorld) Delay(_ context.Context, node string, latency, jitter time.Duration) (string, error) {
	return w.did("Delay", node, latency, jitter)
}

func (w *recordingWorld) Throttle(_ context.Context, node string, kilobytes int) (string, error) {
	return w.did("Throttle", node, kilobytes)
}

func (w *recordingWorld) Mend(_ context.Context, node string) error {
	return silent(w.did("Mend", node))
}

func (w *recordingWorld) Stop(_ context.Context, node string) (string, error) {
	return w.did("Stop", node)
}

func (w *recordingWorld) Continue(_ context.Context, node string) error {
	return silent(w.did("Continue", node))
}

func (w *recordingWorld) Suspend(_ context.Context, node string) (string, error) {
	return w.did("Suspend", node)
}

func (w *recordingWorld) Awaken(_ context.Context, node string) (string, error) {
	return w.did("Awaken", node)
}

func (w *recordingWorld) Kill(_ context.Context, node string) (string, error) {
	return w.did("Kill", node)
}

func (w *recordingWorld) Launch(_ context.Context, node string) error {
	return silent(w.did("Launch", node))
}

func (w *recordingWorld) Dismiss(_ context.Context, node string) (string, error) {
	return w.did("Dismiss", node)
}

func (w *recordingWorld) HandOver(_ context.Context, node string) (string, error) {
	return w.did("HandOver", node)
}

func (w *recordingWorld) StopBeforeWrite(_ context.Context, node string) (string, error) {
	return w.did("StopBeforeWrite", node)
}

func (w *recordingWorld) ContinueWrite(_ context.Context, node string) (string, error) {
	return w.did("ContinueWrite", node)
}

func (w *recordingWorld) SetClockRate(_ context.Context, node string, rate float64) (string, error) {
	return w.did("SetClockRate", node, rate)
}

func (w *recordingWorld) JumpClock(_ context.Context, node string, offset time.Duration) (string, error) {
	return w.did("JumpClock", node, offset)
}

func (w *recordingWorld) StopStore(_ context.Context, targets []string) (string, error) {
	return w.did("StopStore", targets)
}

func (w *recordingWorld) ContinueStore(_ context.Context, targets []string) error {
	return silent(w.did("ContinueStore", targets))
}

func (w *recordingWorld) CrashStore(_ context.Context, targets []string) (string, error) {
	return w.did("CrashStore", targets)
}

func (w *recordingWorld) LaunchStore(_ context.Context, targets []string, keepData bool) (string, error) {
	return w.did("LaunchStore", targets, keepData)
}

func (w *recordingWorld) RewindStore(_ context.Context, by time.Duration) (string, error) {
	return w.did("RewindStore", by)
}

func (w *recordingWorld) LosePrimary(_ context.Context, lag time.Duration) (string, error) {
	return w.did("LosePrimary", lag)
}

func (w *recordingWorld) PromoteReplica(context.Context) (string, error) {
	return w.did("PromoteReplica")
}

func (w *recordingWorld) SplitStore(_ context.Context, nodes []string, lag time.Duration) (string, error) {
	return w.did("SplitStore", nodes, lag)
}

func (w *recordingWorld) JoinStore(context.Context) (string, error) { return w.did("JoinStore") }

func (w *recordingWorld) ShortenLeases(_ context.Context, by time.Duration) (string, error) {
	return w.did("ShortenLeases", by)
}

func (w *recordingWorld) PersistLeases(context.Context) (string, error) {
	return w.did("PersistLeases")
}

func (w *recordingWorld) OverwriteLeases(context.Context) (string, error) {
	return w.did("OverwriteLeases")
}

func (w *recordingWorld) DeleteCounters(context.Context) (string, error) {
	return w.did("DeleteCounters")
}

func (w *recordingWorld) DeleteLeases(context.Context) (string, error) { return w.did("DeleteLeases") }

func (w *recordingWorld) MoveStore(_ context.Context, answer faults.Answer) (string, error) {
	return w.did("MoveStore", answer)
}

func (w *recordingWorld) CloseConnections(context.Context) (string, error) {
	return w.did("CloseConnections")
}

func (w *recordingWorld) WithdrawRights(context.Context) (string, error) {
	return w.did("WithdrawRights")
}

func (w *recordingWorld) RestoreRights(context.Context) (string, error) {
	return w.did("RestoreRights")
}

func (w *recordingWorld) ChangePassword(_ context.Context, side faults.PasswordSide) (string, error) {
	return w.did("ChangePassword", side)
}

func (w *recordingWorld) AlignPassword(_ context.Context, side faults.PasswordSide) (string, error) {
	return w.did("AlignPassword", side)
}

func (w *recordingWorld) FlushStore(context.Context) (string, error) { return w.did("FlushStore") }
func (w *recordingWorld) EvictKeys(context.Context) (string, error)  { return w.did("EvictKeys") }

func (w *recordingWorld) FlushScripts(context.Context) (string, error) { return w.did("FlushScripts") }

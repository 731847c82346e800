package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/settings"
)

// options are what all commands share: the settings, and how to print.
type options struct {
	file    string
	json    bool
	timeout time.Duration
	flags   *pflag.FlagSet
}

// addOptions gives the command the flags of the settings that without does not
// name.
func addOptions(cmd *cobra.Command, without ...string) *options {
	o := &options{flags: cmd.Flags()}
	left := map[string]bool{}
	for _, name := range without {
		left[name] = true
	}
	for _, s := range settings.All() {
		if left[s.Name] {
			continue
		}
		usage := s.Usage + " [" + s.Variable() + "]"
		switch s.Kind {
		case settings.Truth:
			o.flags.Bool(s.Name, false, usage)
		case settings.Texts:
			o.flags.StringArray(s.Name, nil, usage)
		default:
			o.flags.Var(new(word), s.Name, usage)
			o.flags.Lookup(s.Name).DefValue = ""
		}
	}
	o.flags.StringVar(&o.file, "config", "", "YAML file with settings ["+settings.FileVariable+"]")
	return o
}

// word is the text of a flag: what it means is for the settings to say, which
// name the flag when it means nothing.
type word string

func (w *word) String() string         { return string(*w) }
func (w *word) Set(value string) error { *w = word(value); return nil }
func (w *word) Type() string           { return "value" }

// What means nothing to who does not compete, and to who does not write to the
// store at all.
var (
	competing = []string{"id", "preset", "lease", "renew", "retry", "request-timeout", "drain-timeout", "drift", "priority", "failback", "value", "once"}
	writing   = []string{"replicas", "fsynced", "fsynced-replicas", "confirm", "unprotected"}
)

// addQuestion gives the command the flags of one that asks the store.
func addQuestion(cmd *cobra.Command, without ...string) *options {
	o := addOptions(cmd, append(without, competing...)...)
	o.flags.BoolVar(&o.json, "json", false, "print JSON")
	o.flags.DurationVar(&o.timeout, "timeout", 5*time.Second, "after which the store is given up")
	return o
}

// openPassword is said of a call that shows a password.
const openPassword = "elect: warning: --store holds a password, and everybody on this machine can read it in the list of processes: write '${NAME}' for an environment variable or '${file:PATH}' for a file in its place"

// load reads the settings from all sources.
func (m Main) load(o *options) (settings.Settings, error) {
	given := map[string][]string{}
	for _, s := range settings.All() {
		f := o.flags.Lookup(s.Name)
		if f == nil || !f.Changed {
			continue
		}
		given[s.Name] = []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			given[s.Name] = list.GetSlice()
		}
	}
	s, err := settings.Load(settings.Sources{Flags: given, Environ: m.Environ, File: o.file})
	if err == nil && s.HoldsPassword() && s.Source("store") == "--store" {
		fmt.Fprintln(m.Stderr, openPassword)
	}
	return s, usage.Of(err)
}

// ask loads the settings, opens the store and asks it within the time-out.
func (m Main) ask(cmd *cobra.Command, o *options, question func(ctx context.Context, s settings.Settings, store elector.Store) error) error {
	s, err := m.load(o)
	if err != nil {
		return err
	}
	if o.timeout <= 0 {
		return usage.Of(fmt.Errorf("--timeout is %v; it must be above zero, such as 5s", o.timeout))
	}
	if o.flags.Lookup("name") != nil {
		if err := s.Validate(); err != nil {
			return err
		}
	}
	store, closer, err := s.Open(cmd.Context())
	if err != nil {
		return usage.Of(err)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
	defer cancel()
	err = question(ctx, s, store)
	_ = closer.Close() // the answer is there, or its error says more
	return unlessStopped(cmd.Context(), err)
}

// unlessStopped is the error of a question. One that elect was stopped before is
// no answer: a script must not take it for one.
func unlessStopped(ctx context.Context, err error) error {
	var answer *exitError
	if err == nil || ctx.Err() == nil || errors.As(err, &answer) {
		return err
	}
	return errors.New("stopped before there was an answer")
}

// unanswered says that the store did not answer, or refused, and what to do. A fatal error
// says that by itself.
func unanswered(s settings.Settings, err error) error {
	var fatal *elector.FatalError
	if errors.As(err, &fatal) {
		return fatal
	}
	var refusal interface{ Answered() bool }
	if errors.As(err, &refusal) && refusal.Answered() {
		return fmt.Errorf("the store %s refuses: %w; this may pass", settings.Redact(s.Store...), err)
	}
	return fmt.Errorf("the store %s gave no answer: %w; check that it runs and is the one that you mean (--store)", settings.Redact(s.Store...), err)
}

// logger is the log of those who compete: on standard error, since standard
// output is the job's.
func (m Main) logger(level string, asJSON bool) (*slog.Logger, error) {
	var at slog.Level
	if err := at.UnmarshalText([]byte(level)); err != nil {
		return nil, usage.Of(fmt.Errorf("--log is %q; it must be debug, info, warn or error", level))
	}
	o := &slog.HandlerOptions{Level: at}
	return m.journal.logTo(func(to io.Writer) slog.Handler {
		if asJSON {
			return slog.NewJSONHandler(to, o)
		}
		return slog.NewTextHandler(to, o)
	}), nil
}

// printJSON prints one value on one line.
func printJSON(w io.Writer, value any) error {
	return json.NewEncoder(w).Encode(value)
}

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/settings"
)

// The exit statuses, beside the job's own.
const (
	statusDone   = 0
	statusNo     = 1  // status: nobody leads; preflight: an error was found
	statusUsage  = 64 // wrong use or bad input
	statusFailed = 70 // the tool itself failed
	statusSignal = 128
)

// exitError is an exit status of which nothing is to be said any more: the
// job's, or that of an answer.
type exitError struct{ status int }

func (e *exitError) Error() string { return fmt.Sprintf("exit status %d", e.status) }

// exit is the error for an exit status.
func exit(status int) error {
	if status == statusDone {
		return nil
	}
	return &exitError{status}
}

// status is the exit status for an error.
func status(err error) int {
	var (
		wrong    *usage.Error
		setting  *settings.Error
		relation *elector.ConfigError
		fatal    *elector.FatalError
		plain    *exitError
	)
	switch {
	case err == nil, errors.Is(err, context.Canceled): // it was asked to stop, and did
		return statusDone
	case errors.As(err, &plain):
		return plain.status
	case errors.As(err, &wrong), errors.As(err, &setting), errors.As(err, &relation), errors.As(err, &fatal):
		return statusUsage
	default:
		return statusFailed
	}
}

// explain is the one line that a person gets to read about an error, or "" if
// there is nothing to say.
func explain(err error) string {
	var plain *exitError
	if err == nil || errors.As(err, &plain) || errors.Is(err, context.Canceled) {
		return ""
	}
	return usage.FirstLine(err.Error())
}

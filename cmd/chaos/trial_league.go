package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

// leagueFlags are the flags of chaos trial --league.
func (m Main) leagueFlags(*cobra.Command, *trialFlags) {}

// league is chaos trial --league.
func (m Main) league(context.Context, *trialFlags, []string) error {
	return errors.New("the league of planted bugs is not part of this program")
}

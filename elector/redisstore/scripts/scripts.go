package scripts

import (
	_ "embed"
	"strconv"
	"strings"
	"time"
)

//go:embed history.lua
var history string

//go:embed shared.lua
var shared string

//go:embed lease.lua
var lease string

//go:embed guard.lua
var guard string

//go:embed witness.lua
var witness string

//go:embed published.lua
var published string

//go:embed hints.lua
var hints string

//go:embed roster.lua
var roster string

//go:embed note.lua
var note string

//go:embed bid.lua
var bid string

//go:embed counting.lua
var counting string

//go:embed acquire.lua
var acquire string

//go:embed renew.lua
var renew string

//go:embed release.lua
var release string

//go:embed withdraw.lua
var withdraw string

//go:embed leader.lua
var leader string

//go:embed candidates.lua
var candidates string

//go:embed terms.lua
var terms string

//go:embed retire.lua
var retire string

//go:embed evict.lua
var evict string

//go:embed create.lua
var create string

//go:embed vouch.lua
var vouch string

//go:embed drain.lua
var drain string

//go:embed expiring.lua
var expiring string

// Acquire takes the lease if nobody holds it.
func Acquire() string {
	return shared + lease + history + witness + hints + guard + roster + note + counting + acquire
}

// Renew makes the lease last again.
func Renew() string { return shared + history + witness + hints + guard + published + renew }

// Release ends the lease, or passes it on.
func Release() string { return shared + history + hints + guard + roster + bid + counting + release }

// Withdraw takes a bid back.
func Withdraw() string { return shared + lease + bid + withdraw }

// Leader tells who holds the lease.
func Leader() string { return shared + lease + history + published + leader }

// Candidates lists who was heard of lately.
func Candidates() string { return shared + lease + history + note + candidates }

// Terms lists the past terms.
func Terms() string { return shared + history + terms }

// Retire removes everything of an election.
func Retire() string { return shared + lease + history + witness + retire }

// Evict takes the lease away from its holder.
func Evict() string { return shared + lease + history + evict }

// Create makes the server know of an election.
func Create() string { return shared + history + witness + create }

// Vouch makes the server take the caller's word that it has forgotten no lease.
func Vouch() string { return shared + history + vouch }

// Drain removes lines of the audit, and returns the oldest others.
func Drain() string { return shared + drain }

// Expiring is the text with an end: the keys that it got, but for the first, have this
// time to live when it is done, in whole milliseconds, or half of it at least.
func Expiring(text string, after time.Duration) string {
	ms := strconv.FormatInt(after.Milliseconds(), 10)
	return "local function script()\n" + text + "\nend\n" + strings.ReplaceAll(expiring, "AFTER", ms)
}

package scripts

import (
	"strconv"
	"strings"
	"time"
)

// Kind is what an announcement says.
type Kind string

// The kinds of announcements.
const (
	Released  Kind = "released"  // TOKEN, perhaps with MILLISECONDS ID
	Granted   Kind = "granted"   // TOKEN MILLISECONDS, with REQUEST NONCE ID if the lease was passed on
	Published Kind = "published" // TOKEN
)

// Announcement is what the scripts publish on the channel of an election.
type Announcement struct {
	Kind      Kind
	Token     uint64
	Remaining time.Duration // until candidates that are not named should ask
	To        string        // the candidate that is named; empty: none
	Nonce     string        // of the attempt that the lease was passed on to, as the scripts were given it; empty: of none
	Request   uint64        // likewise
}

// ParseAnnouncement reads what the scripts publish. Anything else is somebody else's.
func ParseAnnouncement(text string) (Announcement, bool) {
	kind, rest, _ := strings.Cut(text, " ")
	a := Announcement{Kind: Kind(kind)}
	most := 3
	if a.Kind == Granted {
		most = 5
	}
	parts := strings.SplitN(rest, " ", most)
	var numbers [3]uint64
	for i := range min(len(parts), most/2+1) {
		n, err := strconv.ParseUint(parts[i], 10, 64)
		if err != nil {
			return Announcement{}, false
		}
		numbers[i] = n
	}
	a.Token, a.Remaining = numbers[0], time.Duration(numbers[1])*time.Millisecond
	switch {
	case len(parts) == 1:
		return a, a.Kind == Released || a.Kind == Published
	case a.Kind == Granted && len(parts) == 2:
		return a, true
	case a.Kind == Granted && len(parts) == 5:
		a.Request, a.Nonce, a.To = numbers[2], parts[3], parts[4]
		return a, a.Nonce != "" && a.To != ""
	case a.Kind == Released && len(parts) == 3:
		a.To = parts[2]
		return a, a.To != ""
	default:
		return a, false
	}
}

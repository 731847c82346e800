package quorum

// Announced is what the nodes have announced of an election.
type Announced struct {
	nodes  []announced
	free   bool   // a majority is, and that was passed on
	listen []bool // to which nodes somebody listens
}

type announced struct {
	kind  announcement
	token uint64
}

type announcement int

const (
	nothing announcement = iota
	grant
	release
)

// NewAnnounced is what so many nodes have announced that have said nothing.
func NewAnnounced(nodes int) Announced {
	return Announced{nodes: make([]announced, nodes), listen: make([]bool, nodes)}
}

// Forget notes that node n cannot be heard any more: what it said may be out of
// date.
func (a *Announced) Forget(n int) { a.nodes[n], a.listen[n] = announced{}, false }

// Listening notes that node n can be heard from now on. It reports whether a majority can
// be, and could not be before.
func (a *Announced) Listening(n int) (news bool) {
	was := a.listen[n]
	a.listen[n] = true
	listen := 0
	for _, heard := range a.listen {
		if heard {
			listen++
		}
	}
	return !was && listen == Size(len(a.nodes))
}

// Waiters is how many wait, if a node says that so many do. Each counts once for
// each node: attempts that compete for majorities can all fail, so they need more
// time between them than those for one key.
func (a *Announced) Waiters(of int) int { return of * len(a.nodes) }

// Granted notes that node n announced a grant with that token. It reports whether
// that is news of the whole: a majority has announced it now.
func (a *Announced) Granted(n int, token uint64) bool {
	if !a.heard(n, grant, token) {
		return false
	}
	same := 0
	for _, other := range a.nodes {
		if other == (announced{grant, token}) {
			same++
		}
	}
	return same == Size(len(a.nodes))
}

// Released notes that node n announced the release of that token. It says
// whether that is news of the whole: a majority is free now, and was not before.
// The token is what most of those nodes named.
func (a *Announced) Released(n int, token uint64) (usual uint64, news bool) {
	was := a.free
	if !a.heard(n, release, token) || was || !a.free {
		return 0, false
	}
	var tokens []uint64
	for _, other := range a.nodes {
		if other.kind == release {
			tokens = append(tokens, other.token)
		}
	}
	return Usual(tokens), true
}

// heard takes in what node n announced, unless it said the same before.
func (a *Announced) heard(n int, kind announcement, token uint64) bool {
	if a.nodes[n] == (announced{kind, token}) {
		return false
	}
	a.nodes[n] = announced{kind, token}
	free := 0
	for _, other := range a.nodes {
		if other.kind == release {
			free++
		}
	}
	a.free = free >= Size(len(a.nodes))
	return true
}

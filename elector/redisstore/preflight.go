package redisstore

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/store"
)

var _ store.Preflighter = (*Store)(nil)

// Preflight is [store.Preflighter.Preflight]: it reads settings and state of
// the server, of every primary of a cluster, and of the Sentinels, tries each
// command that the store needs, runs its scripts, and looks at the keys that are there.
// What the user may not read is a note. Nothing is left behind: what it writes are keys
// of an election that nobody else can know, for ten seconds at most.
//
// It takes some hundred round trips, more if there are many keys: it is for the
// start of a program, or for people.
func (s *Store) Preflight(ctx context.Context) (store.Preflight, error) {
	return inTime(ctx, s.foreign, func() (store.Preflight, error) { return s.preflight(ctx) })
}

func (s *Store) preflight(ctx context.Context) (store.Preflight, error) {
	c, err := s.current()
	if err != nil {
		return store.Preflight{}, err
	}
	v := &survey{store: s, client: c, scratch: "preflight-" + rand.Text()}
	defer v.close()
	if err := v.visit(ctx); err != nil {
		return store.Preflight{}, fmt.Errorf("redisstore: preflight: %w", s.greeted(ctx, err))
	}
	for _, n := range v.nodes {
		v.list = append(v.list, v.ofNode(n)...)
	}
	v.list = v.merge(v.list)
	v.cluster(ctx)
	v.sentinels(ctx)
	v.rights(ctx)
	v.trial(ctx)
	v.keys(ctx)
	return store.Preflight{Guarantee: v.guarantee(), Findings: v.list}, nil
}

// survey is one preflight.
type survey struct {
	store   *Store
	client  *client
	scratch string // an election of nobody else's
	nodes   []*node
	closers []func() error
	list    []store.Finding
	blind   bool // scripts may not ask for the server's history
}

func (v *survey) close() {
	for _, end := range v.closers {
		_ = end() // it was for reading only
	}
}

func (v *survey) add(severity store.Severity, subject, text, fix string) {
	v.list = append(v.list, store.Finding{Severity: severity, Subject: subject, Text: text, Fix: fix})
}

func (v *survey) protected() bool { return v.store.protect != unprotected }

// visit reads from the server, or from every primary of a cluster. The error
// says that none of them could be reached, or lets us in.
func (v *survey) visit(ctx context.Context) error {
	var (
		mu      sync.Mutex
		failed  error
		cluster = false
	)
	look := func(ctx context.Context, r *redis.Client) error {
		n, err := readNode(ctx, r)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			failed = err
			v.add(store.SeverityError, "reachable", fmt.Sprintf("the primary at %s does not answer: %v", r.Options().Addr, err),
				"start it, or let one of its replicas take over: the elections in its part of the cluster stand still")
			return nil
		}
		v.nodes = append(v.nodes, n)
		return nil
	}
	var err error
	switch u := v.client.UniversalClient.(type) {
	case *redis.ClusterClient:
		cluster = true
		err = u.ForEachMaster(ctx, look)
	case *redis.Client:
		err = look(ctx, u)
	}
	switch {
	case len(v.nodes) > 0:
		slices.SortFunc(v.nodes, func(a, b *node) int { return strings.Compare(a.addr, b.addr) })
		return nil
	case err != nil:
		return judgeReach(err)
	case failed != nil:
		return judgeReach(failed)
	case !cluster:
		return fmt.Errorf("no connection to look through with a %T", v.client.UniversalClient)
	}
	// A cluster without slots names no primaries.
	o := v.store.opts
	r := redis.NewClient(o.Simple())
	v.closers = append(v.closers, r.Close)
	n, err := readNode(ctx, r)
	if err != nil {
		return judgeReach(err)
	}
	v.nodes = []*node{n}
	return nil
}

// judgeReach says what to do about a server that does not let us in.
func judgeReach(err error) error {
	err = plain(err)
	if fix := fixOf(err); fix != "" {
		return &store.FatalError{Err: err, Fix: fix}
	}
	return err
}

// merge says once what is true of several nodes, and names them if not of all.
func (v *survey) merge(all []store.Finding) []store.Finding {
	if len(v.nodes) < 2 {
		for i := range all {
			_, all[i].Text = cutNode(all[i].Text)
		}
		return all
	}
	var merged []store.Finding
	where := map[store.Finding][]string{}
	for _, f := range all {
		var addr string
		addr, f.Text = cutNode(f.Text)
		if where[f] == nil {
			merged = append(merged, f)
		}
		if addr != "" {
			where[f] = append(where[f], addr)
		} else {
			where[f] = make([]string, len(v.nodes))
		}
	}
	for i, f := range merged {
		if addrs := where[f]; len(addrs) < len(v.nodes) {
			merged[i].Text = strings.Join(addrs, ", ") + ": " + f.Text
		}
	}
	return merged
}

// nodeMark parts a node's address from what was found there.
const nodeMark = "\x00"

func cutNode(text string) (addr, rest string) {
	if addr, rest, ok := strings.Cut(text, nodeMark); ok {
		return addr, rest
	}
	return "", text
}

// guarantee says what is promised on these servers with these options.
func (v *survey) guarantee() string {
	var text []string
	if (store.Preflight{Findings: v.list}).Worst() == store.SeverityError {
		text = append(text, "As things are, elections will fail or are not safe: see the errors.")
	}
	where := "this server keeps"
	switch {
	case len(v.nodes) > 1:
		where = "the primaries of this cluster keep"
	case v.store.opts.MasterName != "":
		where = "the primary that these Sentinels name keeps"
	}
	text = append(text, "While "+where+" its data, at most one candidate holds the lease of an election, and each grant has a larger token than all before.")
	if len(v.nodes) > 1 {
		text[len(text)-1] = strings.Replace(text[len(text)-1], "its data", "their data", 1)
	}
	if v.store.confirm.fsync() {
		text = append(text, v.onDisk())
	}
	text = append(text, v.afterLoss(), v.afterFailover(),
		"Not promised: a leader that was paused, or a server whose clock jumps forward, can still make two act at one time, which the protected resource prevents by refusing tokens smaller than one that it has seen.")
	return strings.Join(text, " ")
}

func (v *survey) afterLoss() string {
	if !v.protected() {
		return "If data are lost (by a crash, an eviction or a failover), two candidates may lead for up to one lease, and a token may be handed out twice: Options.Unprotected switches the protection off."
	}
	for _, n := range v.nodes {
		if n.info["master_replid"] == "" || v.blind {
			return "If a server forgets an election, nobody is granted a lease for as long as one may last; but without INFO a server that took over with older data is not told from the one before, and may grant a second lease."
		}
	}
	return "If data are lost, or another server takes over without the lease, nobody is granted one for as long as a lease may last, and tokens go on from the server's clock."
}

func (v *survey) onDisk() string {
	c := v.store.confirm
	disks := count(c.disks, "replica") + "' disks"
	if c.disks == 1 {
		disks = "a replica's disk"
	}
	switch {
	case c.disks == 0:
		return "A lease counts once it is on the server's disk, so no crash of the server alone loses one that counts."
	case !c.own:
		return "A lease counts once it is on " + disks + "."
	default:
		return "A lease counts once it is on the server's disk and on " + disks + ", so no crash of all of them loses one that counts."
	}
}

func (v *survey) afterFailover() string {
	most, unknown := 0, false
	for _, n := range v.nodes {
		most = max(most, n.replicas())
		unknown = unknown || n.info["role"] == ""
	}
	k := v.store.confirm.most()
	switch {
	case unknown:
		return "What a failover costs cannot be told, because replication could not be read."
	case most == 0:
		return "No replica is connected: while the server is away nobody leads."
	case k == 0:
		return fmt.Sprintf("Replication (to %s) is asynchronous and not waited for: a primary that is cut off may keep its leader while a promoted replica grants the lease to another one.", count(most, "replica"))
	case 2*k < most:
		return fmt.Sprintf("A lease counts once %d of %s have it, which is fewer than half: a primary cut off together with those may keep its leader while another replica is promoted.", k, count(most, "replica"))
	default:
		text := fmt.Sprintf("A lease counts once %d of %s have it: a cut-off primary cannot keep its leader, and a failover to one of those that confirmed loses no lease", k, count(most, "replica"))
		if k < most {
			text += "; but if a replica stays with the old primary for longer than a lease after another one was promoted, and then moves, two may lead for up to one lease"
		}
		return text + "."
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

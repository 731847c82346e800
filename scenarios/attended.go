package scenarios

import (
	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim"
)

// Attended are the scenarios in which somebody attends to the store while candidates are
// connected to it: connections that are open lead elsewhere than new ones, and users and
// passwords change. Not every place has such a store, so they are not among All.
//
// Each promises a leader within three leases of the moment from which on a new connection
// is served. The elector as it was before it opened connections anew broke that in 9 of 10
// runs of demoted-stays and demoted-cut-off; as it was before it tried again what was
// allowed before, in each run of rights-withdrawn and credentials-rotate. It kept it in
// address-moves: the client closes a connection on which it is told READONLY.
func Attended() []Scenario { return append(ofOneServer(), behindSentinels()...) }

func ofOneServer() []Scenario {
	return []Scenario{
		{
			Name:     "address-moves",
			Summary:  "the store's address leads to a promoted replica, for new connections only; open ones go on with the former primary, which follows the new one",
			Breaks:   "connections that are kept although they lead to a server that cannot write",
			Schedule: moved(faults.ReadOnly),
			Quiet:    7,
			Return:   3,
			Waived:   twoAnswer(),
		},
		{
			Name:     "demoted-stays",
			Summary:  "the store's address moves for new connections only, and the former primary goes on as one that has too few replicas to write",
			Breaks:   "connections that are kept because their server calls itself a primary: nobody leads, for ever",
			Nodes:    3, // one that opens a connection by chance saves all
			Schedule: moved(faults.NoReplicas),
			Quiet:    7,
			Return:   3,
			Waived:   twoAnswer(),
		},
		{
			Name:     "demoted-cut-off",
			Summary:  "the store's address moves for new connections only, and the former primary follows one that it cannot reach, and serves nobody",
			Breaks:   "connections that are kept because their server is taken for one that will soon serve again",
			Nodes:    3, // one that opens a connection by chance saves all
			Schedule: moved(faults.MasterDown),
			Quiet:    7,
			Return:   3,
			Waived:   maybeNone(),
		},
		{
			Name:    "rights-withdrawn",
			Summary: "the candidates' user may run no scripts for two leases",
			Breaks:  "an elector that ends for good because of an answer that passes",
			Schedule: func(s Shape) faults.Schedule {
				return faults.Schedule{s.at(1, 2, faults.RightsWithdrawn{}, faults.Store)}
			},
			Quiet:  6,
			Excess: 2.5,
			Return: 3,
		},
		{
			Name:     "credentials-rotate",
			Summary:  "the store's password changes on the server first, then in the candidates' file first; each time once while connections stay, and once while the store closes them",
			Breaks:   "an elector that ends for good because of an answer that passes, or that logs in with the password of yesterday",
			Schedule: rotated,
			Quiet:    6,
			Excess:   2.5,
			Return:   3,
			Waived:   maybeNone(),
		},
	}
}

// behindSentinels are those of them that Sentinels change: no address moves, and clients that
// were not told of a failover go on with the former primary.
func behindSentinels() []Scenario {
	summaries := map[string]string{
		"demoted-stays":      "Sentinels promote a replica while no candidate reaches them, and the former primary goes on as one that has too few replicas to write",
		"demoted-cut-off":    "Sentinels promote a replica while no candidate reaches them, and the former primary follows one that it cannot reach, and serves nobody",
		"rights-withdrawn":   "the candidates' user may run no scripts for two leases, on a primary and replicas behind Sentinels",
		"credentials-rotate": "the password changes on a primary and replicas behind Sentinels first, then in the candidates' file first; each time once while connections stay, and once while the servers close them",
	}
	var all []Scenario
	for _, s := range ofOneServer() {
		if summary, has := summaries[s.Name]; has {
			s.Name, s.Summary, s.Topology = "sentinel-"+s.Name, summary, sim.Sentinel
			all = append(all, s)
		}
	}
	return all
}

// moved moves the store's address once; the former primary answers so. Before that requests
// take longer than an elector waits for them, and a leader dies. So each candidate has as many
// connections as it ever has. Who has fewer opens one by chance, and is saved by it.
func moved(answer faults.Answer) func(Shape) faults.Schedule {
	return func(s Shape) faults.Schedule {
		slow := faults.Latency{Base: s.Lease / 10, Jitter: s.Lease / 50}
		return faults.Schedule{
			s.at(0.5, 3.5, slow, faults.All),
			s.at(1, 1.5, faults.Crash{}, faults.Leader),
			s.at(5, 0, faults.StoreMoved{Answer: answer}, faults.Store),
		}
	}
}

// twoAnswer are the waivers where two servers tell who leads.
func twoAnswer() map[checker.Promise]string {
	waived := maybeNone()
	waived[checker.LeaseLinearizable] = "who asks over an open connection is told what the former primary knows, which grants nothing any more"
	return waived
}

// rotated changes the password four times. Who cannot log in for so long loses the lease.
func rotated(s Shape) (all faults.Schedule) {
	begin := Leases(1)
	for _, first := range []faults.PasswordSide{faults.PasswordServer, faults.PasswordFile} {
		change := faults.PasswordChanged{First: first}
		all = append(all,
			s.at(begin, 1, change, faults.Store),
			s.at(begin+2, 2, change, faults.Store), s.at(begin+2.3, 0, faults.ConnectionsClosed{}, faults.Store))
		begin += 7
	}
	return all
}

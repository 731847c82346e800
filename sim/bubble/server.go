package bubble

import (
	"fmt"
	"slices"
	"time"

	"github.com/recount-io/recount/sim/bubble/network"
	"github.com/recount-io/recount/sim/bubble/redisserver"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// Do executes a command of the harness's own on a server.
type Do func(args ...string) redismodel.Reply

// Server is a server of the run's store: a model, or what World.Launch gives. Those
// that come from one another by Beside may replicate each other.
type Server interface {
	network.Target

	// With calls f, in which nobody else's command is executed as far as the server
	// can see to that.
	With(f func(do Do))

	// Answers reports whether the server is up and does not stand still. One that does
	// not answer cannot be told anything.
	Answers() bool

	// Freeze makes the server stand still until Thaw, Crash ends it until Restart.
	// They report whether the server was otherwise.
	Freeze() bool
	Thaw()
	Crash() bool
	Restart(keepData bool) bool

	// Beside returns another server, which is a primary and holds nothing. Its name
	// is letters and digits.
	Beside(name string) Server
	// Follow tells the server to be a replica of another one, which follows nobody,
	// and Promote to be a primary. Replica tells which it is.
	Follow(primary Server)
	Promote()
	Replica() bool
	// Sever keeps the server from its primary of the time, until Mend.
	Sever()
	Mend()
	// Forget makes the replicas of the server copy all of its data the next time
	// that they are connected.
	Forget()
	// Refuse makes the server answer that it cannot serve from now on; an empty text ends
	// that. A server that cannot say so in these words says so in others.
	Refuse(redisserver.Unfitness)
	// Followers is what CLIENT LIST says of its replicas.
	Followers() string
	// Lag makes what its primary has written reach the server so much later, and
	// StepClock sets its clock. A server that cannot do so does not.
	Lag(by time.Duration)
	StepClock(by time.Duration)
}

// model is a server in memory. Two of them are the same if they are equal.
type model struct{ *redisserver.Server }

var _ Server = model{}

// replicaLag is how long what a primary has written takes to its replicas.
const replicaLag = 300 * time.Microsecond

// serverName is that of the n-th server of a store.
func serverName(store, n int) string { return fmt.Sprintf("store%dserver%d", store+1, n) }

// modelled makes the first server of a store. audited is called after each script,
// and failed with each command that got an error.
func modelled(store int, audited func(Server, Do), failed func(command, err string)) Server {
	return model{redisserver.New(redisserver.Options{
		Name:  serverName(store, 1),
		Users: map[string][]string{BlindUser: {"INFO"}},
		Clock: func() time.Duration { return time.Duration(time.Now().UnixNano()) },
		Executed: func(s *redisserver.Server, db *redismodel.Server, args []string, reply redismodel.Reply) {
			if reply.Kind == redismodel.Error {
				failed(args[0], reply.Text)
			}
			if args[0] == "EVALSHA" || args[0] == "EVAL" {
				now := time.Duration(time.Now().UnixNano())
				audited(model{s}, func(args ...string) redismodel.Reply { return db.Do(now, args...) })
			}
		},
	})}
}

// With implements Server.
func (m model) With(f func(do Do)) {
	m.Server.With(func(dbs []*redismodel.Server, now time.Duration) {
		f(func(args ...string) redismodel.Reply {
			reply := dbs[0].Do(now, args...)
			reply.Items = slices.Clone(reply.Items)
			return reply
		})
	})
}

// Followers implements Server.
func (m model) Followers() (list string) {
	m.Server.With(func(dbs []*redismodel.Server, now time.Duration) { list = dbs[0].Followers(now) })
	return list
}

// Beside implements Server.
func (m model) Beside(name string) Server { return model{m.Server.Beside(name)} }

// Follow implements Server.
func (m model) Follow(primary Server) {
	if of, is := primary.(model); is && of != m {
		m.Server.Follow(of.Server, replicaLag)
	}
}

// Lag implements Server.
func (m model) Lag(by time.Duration) { m.Delay(replicaLag + by) }

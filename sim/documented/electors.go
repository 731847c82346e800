package documented

import "github.com/recount-io/recount/sim"

// Elector is a documented elector, and what there is to know about it.
type Elector struct {
	Name    string
	Summary string
	Run     sim.Elector
	Tokens  bool // it hands out fencing tokens
	Store   Store
	Scans   bool // it looks through every key of its Redis, also those of others
}

// Store is where an elector keeps its leases.
type Store int

// The stores. The zero value is the Redis of the run.
const (
	Redis    Store = iota
	Postgres       // a row for each election
	Memory         // of each process
)

// Electors are all of them.
func Electors() []Elector {
	return []Elector{
		{Name: "titan", Summary: "SET NX EX; renews by GET and then EXPIRE, and releases by a script", Run: Titan},
		{Name: "pod", Summary: "SET NX EX; renews by SET XX EX without a look at the owner, and releases nothing", Run: Pod},
		{Name: "pod-lua", Summary: "SET NX EX; renews by a script when 80 % of the lease are over, and releases nothing", Run: PodLua},
		{Name: "arco-memory", Summary: "a lease with fencing tokens in the memory of each process", Run: ArcoMemory, Tokens: true, Store: Memory},
		{Name: "arco-postgres", Summary: "a lease with fencing tokens in a row of PostgreSQL", Run: ArcoPostgres, Tokens: true, Store: Postgres},
		{Name: "sovereign", Summary: "SET NX EX; renews by EXPIRE without a look at the owner; heartbeats by wall clocks; DEL to stop", Run: Sovereign, Scans: true},
		{Name: "honua", Summary: "SET NX EX; renews and releases by scripts", Run: Honua},
	}
}

module github.com/recount-io/recount/examples/schedulers

go 1.26.0

require (
	github.com/go-co-op/gocron/v2 v2.21.2
	github.com/google/uuid v1.6.0
	github.com/recount-io/recount/elector v0.1.0
	github.com/recount-io/recount/internal v0.1.0
	github.com/redis/go-redis/v9 v9.17.3
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/dgryski/go-rendezvous v0.0.0-20200823014737-9f7001d12a5f // indirect
	github.com/jonboulle/clockwork v0.5.0 // indirect
	github.com/robfig/cron/v3 v3.0.1 // indirect
	golang.org/x/sys v0.22.0 // indirect
)

replace (
	github.com/recount-io/recount/elector => ../../elector
	github.com/recount-io/recount/internal => ../../internal
)

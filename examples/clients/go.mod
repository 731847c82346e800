module github.com/recount-io/recount/examples/clients

go 1.26.0

require (
	github.com/gomodule/redigo v1.9.3
	github.com/recount-io/recount/elector v0.1.0
	github.com/recount-io/recount/internal v0.1.0
	github.com/redis/rueidis v1.0.79
	github.com/valkey-io/valkey-go v1.0.79
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/redis/go-redis/v9 v9.23.0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
)

replace (
	github.com/recount-io/recount/elector => ../../elector
	github.com/recount-io/recount/internal => ../../internal
)

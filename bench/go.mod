module github.com/recount-io/recount/bench

go 1.26.0

require (
	github.com/recount-io/recount/elector v0.1.0
	github.com/recount-io/recount/internal v0.1.0
)

require (
	github.com/bsm/redislock v0.9.4
	github.com/go-redsync/redsync/v4 v4.18.1
	github.com/redis/go-redis/v9 v9.23.0
	github.com/redis/rueidis v1.0.79
)

require (
	github.com/aclements/go-moremath v0.0.0-20210112150236-f10218a38794 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/perf v0.0.0-20260908200009-22c9c6c9d4da // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace (
	github.com/recount-io/recount/elector => ../elector
	github.com/recount-io/recount/internal => ../internal
)

tool golang.org/x/perf/cmd/benchstat

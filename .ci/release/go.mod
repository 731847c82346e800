module github.com/recount-io/recount/.ci/release

go 1.26

require golang.org/x/mod v0.29.0

package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/recount-io/recount/internal/topology"
)

// On a PostgreSQL all is as it is on Redis, once the tables are there: until
// then the error says how to create them.
func TestPostgres(t *testing.T) {
	store := topology.SinglePostgres(t).URL
	ask := func(command string, more ...string) result {
		return call(t, t.Context(), nil, append([]string{command, "--store", store, "--name", "billing"}, more...)...)
	}
	for _, early := range []result{ask("status"), ask("history"), ask("run", "--", "true")} {
		if early.status != statusUsage || !strings.Contains(early.errors, "elect migrate") {
			t.Errorf("without the tables: %+v", early)
		}
	}
	for range 2 { // the second time they are there
		if got := call(t, t.Context(), nil, "migrate", "--store", store); got.status != statusDone {
			t.Fatalf("%+v", got)
		}
	}
	if got := ask("status"); got.status != statusNo || got.out != "billing: nobody leads\n" {
		t.Errorf("before: %+v", got)
	}
	if got := ask("run", "--log", "warn", "--", "sh", "-c", "echo $ELECT_TOKEN; exit 3"); got.status != 3 || got.out != "1\n" {
		t.Errorf("run: %+v", got)
	}

	leads := func(address string) func() bool {
		return func() bool { code, _ := get(t, address, "/leader"); return code == http.StatusOK }
	}
	a := serving(t, store, "a", "--allow-transfer")
	eventually(t, "a leads", leads(a))
	b := serving(t, store, "b")
	eventually(t, "both compete", func() bool {
		got := ask("status")
		return got.status == statusDone && strings.Contains(got.out, "billing: a/") && strings.Contains(got.out, "candidate b/")
	})
	at := []string{"--store", store, "--name", "billing"}
	watched(t, at, "a")
	if got := call(t, t.Context(), nil, "transfer", "--at", "http://"+a, "--to", "b"); got.status != statusDone {
		t.Fatalf("transfer: %+v", got)
	}
	eventually(t, "b leads", leads(b))
	watched(t, at, "b")

	var terms []termEntry
	got := ask("history", "--json")
	if err := json.Unmarshal([]byte(got.out), &terms); err != nil || len(terms) != 3 {
		t.Fatalf("%v in %+v", err, got)
	}
	if terms[0].Token != 3 || terms[0].Ended != nil || terms[1].Token != 2 || terms[1].Ended == nil || !strings.HasPrefix(terms[1].ID, "a/") {
		t.Errorf("the terms are %s", got.out)
	}
}

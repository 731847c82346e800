package settings_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/recount-io/recount/elector/settings"
)

// Settings from the environment, as a container has them. Where each of them
// comes from is part of every error, and no password is shown.
func ExampleLoad() {
	s, err := settings.Load(settings.Sources{Environ: []string{
		"ELECT_NAME=billing",
		"ELECT_STORE=redis://app:${REDIS_PASSWORD}@db:6379/0",
		"REDIS_PASSWORD=s3cret",
		"ELECT_LEASE=10s",
		"ELECT_REQUEST_TIMEOUT=1500ms",
	}})
	fmt.Println(s, err)
	fmt.Println(s.Validate())

	s.Renew = s.Lease
	fmt.Println(s.Validate())

	_, err = settings.Load(settings.Sources{Environ: []string{"ELECT_LEASE=10"}})
	fmt.Println(err)
	// Output:
	// name billing (from ELECT_NAME), store redis://…@db:6379/0 (from ELECT_STORE), lease 10s (from ELECT_LEASE), request-timeout 1.5s (from ELECT_REQUEST_TIMEOUT) <nil>
	// <nil>
	// renew: is 10s and Lease is 10s; a lease must be renewed before it ends: Renew < Lease (lease is from ELECT_LEASE)
	// lease (from ELECT_LEASE): is "10"; it must be a time above zero with its unit, such as 1500ms, 15s or 2m
}

// Settings from a YAML file. A flag, and the environment, win over it.
func ExampleLoad_yaml() {
	folder, err := os.MkdirTemp("", "settings")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(folder) }()
	file := filepath.Join(folder, "elect.yaml")
	err = os.WriteFile(file, []byte(`
name: billing
store: redis://db:6379/0
preset: fast
request_timeout: 100ms
leese: 3s
`), 0o600)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = settings.Load(settings.Sources{File: file})
	fmt.Println(err)

	_ = os.WriteFile(file, []byte("name: billing\nlease: 10s\nrenew: 2s\n"), 0o600) // it could be written before
	s, err := settings.Load(settings.Sources{
		File:    file,
		Environ: []string{"ELECT_RENEW=3s"},
		Flags:   map[string][]string{"store": {"redis://db"}},
	})
	fmt.Println(s, err)
	fmt.Println(s.Source("renew"), "and not", s.Source("lease"))
	// Output:
	// leese (from elect.yaml line 6): there is no such setting: did you mean lease?
	// name billing (from elect.yaml line 1), store redis://db (from --store), lease 10s (from elect.yaml line 2), renew 3s (from ELECT_RENEW) <nil>
	// ELECT_RENEW and not elect.yaml line 2
}

// Package settings makes the configuration of an elector from flags, the
// environment and a YAML file.
//
// # What is guaranteed
//
// Each setting has one name, written in three ways: --request-timeout as a
// flag, ELECT_REQUEST_TIMEOUT in the environment, request_timeout in the file.
// A flag wins over the environment, the environment over the file, the file
// over the preset, the preset over the defaults. What is not understood is an
// error that names the setting and where it stands, with its line if that is a
// file: an unknown name in a file, or one in the environment that is nearly a
// known one, is never passed over. Errors and Settings.String show no password.
//
// The names begin with ELECT_ rather than with RECOUNT_ because the harness of
// this project hands its candidates RECOUNT_LEASE_MS, RECOUNT_NODE and others,
// in units and with meanings of its own: under one prefix, a candidate on trial
// would configure itself by accident.
//
// # Four names of others
//
// Programs that elect by a lease in Redis are often configured by REDIS_HOST
// (127.0.0.1 if only REDIS_PORT is set), REDIS_PORT (6379), LEADER_KEY (the
// name; "leader") and LEASE_TIME (whole or decimal seconds; 5). They work here,
// weaker than the file. Their defaults hold where REDIS_HOST or REDIS_PORT names
// the store, that of LEASE_TIME only without a preset. LEADER_KEY is the
// election's name, not the key itself: the key in Redis is made from the name,
// and is of this elector's own format. A REDIS_PORT of the form tcp://… was put
// there by Kubernetes for a service called "redis", and not by a person: without
// REDIS_HOST it is not heeded.
//
// # Passwords
//
// ${NAME} inside a store's URL stands for that environment variable, with what
// has a meaning in URLs escaped, so the file and the command line need not hold
// the password. ${file:PATH} stands for what is in that file, less the end of
// its last line; /dev/stdin is standard input. A URL that consists of one of
// these alone is that variable or file, as it is.
//
// # The caller's duty
//
// Call Settings.Validate, or leave that to elector.New; close what Open returns
// after the last elector has ended.
package settings

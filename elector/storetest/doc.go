// Package storetest is the conformance suite of elector.Store: what an elector
// relies on, as checks that every store must pass.
package storetest

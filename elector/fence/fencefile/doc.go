// Package fencefile keeps a former leader from writing to a file that several machines or
// processes share: see package fence for what a token is, and what no guard can do.
package fencefile

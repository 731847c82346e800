//go:build !linux

package main

// treeMain does nothing: job trees are drawn on Linux.
func treeMain() {}

package main

import (
	"os"
	"testing"

	"github.com/recount-io/recount/cmd/internal/documents"
)

// TestDocumentsShowCommands finds every command and flag that a page shows among those that
// there are.
func TestDocumentsShowCommands(t *testing.T) {
	shown, err := documents.Commands(os.DirFS("../.."), "chaos")
	if err != nil || len(shown) < 20 {
		t.Fatalf("the documents show %d commands: %v", len(shown), err)
	}
	for _, s := range shown {
		if wrong := s.Wrong((Main{}).command()); wrong != "" {
			t.Errorf("%v: %s", s, wrong)
		}
	}
}

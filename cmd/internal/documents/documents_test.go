package documents

import (
	"testing"
	"testing/fstest"

	"github.com/spf13/cobra"
)

// TestWrongCommandsAreSeen gives pages with right and wrong commands, and how many of them
// are wrong.
func TestWrongCommandsAreSeen(t *testing.T) {
	root := func() *cobra.Command {
		root := &cobra.Command{Use: "tool"}
		run := &cobra.Command{Use: "run [NAME]", Run: func(*cobra.Command, []string) {}}
		run.Flags().Int("count", 1, "")
		root.AddCommand(run)
		return root
	}
	for page, want := range map[string]int{
		"```\ntool run --count 3 # comment --none\n```\n":        0,
		"```\n$ tool run --count three\n```\n":                   1,
		"```\ngo run ./cmd/tool run --nothing\n```\n":            1,
		"See `tool run --count N` and `tool walk`.\n":            1,
		"See `tool run --count`.\n":                              0,
		"```\ntool run a && tool run --nothing\n```\n":           0, // only the first command of a line
		"```\ntool run 'a --b' --count=2 -- other --flag\n```\n": 0,
		"tool walk is no command here\n":                         0,
	} {
		shown, err := Commands(fstest.MapFS{"docs/a.md": {Data: []byte(page)}}, "tool")
		if err != nil {
			t.Fatal(err)
		}
		wrong := 0
		for _, s := range shown {
			if s.Wrong(root()) != "" {
				wrong++
			}
		}
		if wrong != want {
			t.Errorf("%q: %d wrong commands in %v, want %d", page, wrong, shown, want)
		}
	}
}

package search

import (
	"os"
	"testing"

	"github.com/recount-io/recount/sim/bubble/bubbletest"
)

func TestMain(m *testing.M) {
	Spaces = append(Spaces, toys, coins)
	Main()
	os.Exit(bubbletest.Main(m))
}

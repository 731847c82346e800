package calls_test

import (
	"os"
	"testing"

	"github.com/recount-io/recount/sim/bubble/bubbletest"
)

func TestMain(m *testing.M) { os.Exit(bubbletest.Main(m)) }

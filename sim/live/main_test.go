package live

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	ours "github.com/recount-io/recount/sim/candidate"
)

// writer makes this program the one that shell candidates write with.
const writer = "LIVE_TEST_WRITER"

func TestMain(m *testing.M) {
	if body := os.Getenv(writer); body != "" {
		reply, err := http.Post(os.Getenv("RECOUNT_RESOURCE_URL")+"/write", "application/json", strings.NewReader(body))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		_ = reply.Body.Close() // the status is all there is to know
		os.Exit(0)
	}
	ours.Main(deadlineSubjects)
	Main()
	os.Exit(m.Run())
}

// patience bounds what should take milliseconds; a loaded machine may take its
// time.
const patience = 30 * time.Second

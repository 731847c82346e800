package fence_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/recount-io/recount/elector/fence"
)

// shown stands for a *sql.DB, and shows what is executed.
type shown struct{}

func (shown) ExecContext(_ context.Context, query string, args ...any) (sql.Result, error) {
	fmt.Println(query)
	fmt.Println(args...)
	return driver.RowsAffected(1), nil
}

// QueryRowContext is asked only where no row was updated.
func (shown) QueryRowContext(context.Context, string, ...any) *sql.Row { return nil }

// An update of one row, whose column "fence" keeps a former leader's from it.
// The first two values are of the statement's own part, then come token, key
// and token.
func ExampleColumn_Update() {
	accounts := fence.Column{Table: "accounts", Key: "id", Dialect: fence.PostgreSQL}
	err := accounts.Update(context.Background(), shown{}, 34, 7, "balance = balance - $1, note = $2", 10, "rent")
	fmt.Println(err)
	// Output:
	// UPDATE accounts SET balance = balance - $1, note = $2, fence = $3::numeric WHERE id = $4 AND (fence IS NULL OR fence <= $5::numeric)
	// 10 rent 34 7 34
	// <nil>
}

// Several resources in this process. The new leader's token waits for the
// former leader's write to end, and is not admitted beside it.
func ExampleMemory() {
	var guard fence.Memory
	release, err := guard.Hold(context.Background(), 33, "ledger")
	fmt.Println("the first leader writes:", err)

	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	fmt.Println("the second one comes:", guard.Check(ctx, 34, "ledger"))
	fmt.Println("another resource:", guard.Check(ctx, 34, "index"))
	release()

	_, err = guard.Hold(context.Background(), 33, "ledger")
	var stale *fence.StaleError
	fmt.Println("the first one again:", errors.As(err, &stale), guard.Highest("ledger"))
	// Output:
	// the first leader writes: <nil>
	// the second one comes: context deadline exceeded
	// another resource: <nil>
	// the first one again: true 34
}

// fixed stands for an *elector.Term.
type fixed uint64

func (f fixed) Token() uint64             { return uint64(f) }
func (f fixed) Check(time.Duration) error { return nil }

// The leader's requests carry its token, and the service refuses those of a
// former leader.
func ExampleTransport() {
	service := httptest.NewServer(fence.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), new(fence.Memory), fence.HandlerOptions{}))
	defer service.Close()
	for _, term := range []fence.Term{fixed(34), fixed(33)} { // one Transport for each
		client := http.Client{Transport: &fence.Transport{Term: term}}
		answer, err := client.Post(service.URL, "", nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		_ = answer.Body.Close() // nobody reads it
		fmt.Println(answer.StatusCode, fence.StaleFrom(answer))
	}
	// Output:
	// 200 <nil>
	// 412 fence: token 33 is stale: the resource has seen token 34, so somebody else leads since; stop working on this term
}

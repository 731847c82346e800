package fence_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/recount-io/recount/elector/fence"
)

// A service that refuses a former leader's requests.
func ExampleHandler() {
	service := fence.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, "done with token ", fence.TokenFrom(r.Context()))
	}), new(fence.Memory), fence.HandlerOptions{})
	for _, token := range []string{"34", "33"} {
		r := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
		r.Header.Set(fence.HeaderToken, token)
		w := httptest.NewRecorder()
		service.ServeHTTP(w, r)
		fmt.Printf("%d, fence %q\n", w.Code, w.Header().Get(fence.HeaderHighest))
	}
	// Output:
	// 200, fence ""
	// 412, fence "34"
}

// A transaction that is committed only if no later leader was there.
func ExampleSQL_Do() {
	guard := fence.SQL{Dialect: fence.PostgreSQL}
	_ = func(ctx context.Context, db *sql.DB, token uint64) error {
		return guard.Do(ctx, db, nil, token, "billing", func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE accounts SET balance = balance - 10 WHERE id = 7")
			return err
		})
	}
	schema, err := guard.Schema()
	fmt.Println(schema, err)
	// Output: CREATE TABLE IF NOT EXISTS fence (resource text COLLATE "C" NOT NULL PRIMARY KEY, token numeric(20,0) NOT NULL) <nil>
}

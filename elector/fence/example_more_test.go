package fence_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/recount-io/recount/elector/fence"
)

// A log that several machines append to.
func ExampleFile_Append() {
	folder, err := os.MkdirTemp("", "log")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(folder) }()
	ctx, log := context.Background(), fence.File{Path: filepath.Join(folder, "log")}
	fmt.Println(log.Append(ctx, 34, []byte("by the second leader")))
	fmt.Println(log.Append(ctx, 33, []byte("by the first leader")))
	for line, err := range log.Lines() {
		fmt.Println(line.Token, string(line.Data), err)
	}
	// Output:
	// <nil>
	// fence: token 33 is stale: the resource has seen token 34, so somebody else leads since; stop working on this term
	// 34 by the second leader <nil>
}

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

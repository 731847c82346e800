package fence

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"pgregory.net/rapid"

	"github.com/recount-io/recount/elector/internal/guardtest"
)

// guards are all guards, each as something that makes new resources. maker
// connects, once for a test. Those on PostgreSQL are tested where its driver is
// at home, in elector/pgstore/fence.
var guards = []struct {
	name  string
	maker func(t *testing.T) func() guardtest.Resource
}{
	{"Guard", func(*testing.T) func() guardtest.Resource {
		return func() guardtest.Resource {
			g := new(Guard)
			return guardtest.Resource{Write: g.Admit, Highest: func() (uint64, error) { return g.Highest(), nil }}
		}
	}},
	{"Guard.Do", func(*testing.T) func() guardtest.Resource {
		return func() guardtest.Resource {
			g := new(Guard)
			return guardtest.Resource{Write: func(token uint64) error { return g.Do(token, func() error { return nil }) }}
		}
	}},
	{"Memory", func(t *testing.T) func() guardtest.Resource {
		m := new(Memory)
		return checked(t, m, func(resource string) (uint64, error) { return m.Highest(resource), nil })
	}},
	{"RedisGuard, miniredis", func(t *testing.T) func() guardtest.Resource {
		g := NewRedisGuard(connect(t, miniredis.RunT(t).Addr()))
		return checked(t, g, func(resource string) (uint64, error) { return g.Highest(t.Context(), resource) })
	}},
	{"RedisGuard, redis-server", func(t *testing.T) func() guardtest.Resource {
		g := NewRedisGuard(connect(t, startReal(t)))
		return checked(t, g, func(resource string) (uint64, error) { return g.Highest(t.Context(), resource) })
	}},
	{"SQL, SQLite", func(t *testing.T) func() guardtest.Resource {
		db, g := openSQLite(t)
		return checked(t, g.On(db), func(resource string) (uint64, error) { return g.Highest(t.Context(), db, resource) })
	}},
	{"Column, SQLite", func(t *testing.T) func() guardtest.Resource {
		db, _ := openSQLite(t)
		db.execute(t, "CREATE TABLE r (id integer PRIMARY KEY, x integer, fence text)")
		return columned(t, db, Column{Table: "r", Key: "id", Dialect: SQLite})
	}},
	{"Handler", func(t *testing.T) func() guardtest.Resource { return handled(t, new(Memory)) }},
	{"Handler on Redis", func(t *testing.T) func() guardtest.Resource {
		return handled(t, NewRedisGuard(connect(t, miniredis.RunT(t).Addr())))
	}},
}

func checked(t *testing.T, guard Checker, highest func(string) (uint64, error)) func() guardtest.Resource {
	return guardtest.Checked(t.Context(), guard.Check, highest)
}

func columned(t *testing.T, db SQLTx, column Column) func() guardtest.Resource {
	return guardtest.Columned(func(key int) {
		if _, err := db.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO %s (id) VALUES (%d)", column.Table, key)); err != nil {
			t.Fatal(err)
		}
	}, func(token uint64, key int) error { return column.Update(t.Context(), db, token, key, "x = 1") })
}

// handled goes all the way: token to header to guard to answer to error.
func handled(t *testing.T, guard Checker) func() guardtest.Resource {
	handler := Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), guard, HandlerOptions{
		Resource: func(r *http.Request) (string, error) { return r.URL.Path, nil },
	})
	served := httptest.NewServer(handler)
	t.Cleanup(served.Close)
	n := 0
	return func() guardtest.Resource {
		n++
		url := fmt.Sprint(served.URL, "/", n)
		return guardtest.Resource{Write: func(token uint64) error {
			client := http.Client{Transport: &Transport{Term: fixed(token), Base: served.Client().Transport}}
			answer, err := client.Post(url, "", nil)
			if err != nil {
				return err
			}
			defer answer.Body.Close()
			if err := StaleFrom(answer); err != nil || answer.StatusCode == http.StatusOK {
				return err
			}
			body, _ := io.ReadAll(answer.Body) // for people
			return fmt.Errorf("%s: %s", answer.Status, body)
		}}
	}
}

// suite reads this package's refusals.
var suite = guardtest.Refusing(ErrNoToken, func(e *StaleError) (token, highest uint64) { return e.Token, e.Highest })

// All guards answer alike to the same tokens: they admit what is not smaller
// than the largest, refuse the rest with both, and refuse no token at all.
func TestAllGuardsAnswerAlike(t *testing.T) {
	for _, guard := range guards {
		t.Run(guard.name, func(t *testing.T) { suite.Alike(t, guard.maker(t)) })
	}
}

// Whatever the sequence of tokens, every guard answers as the oracle does,
// which is one number.
func TestAllGuardsAgreeWithTheOracle(t *testing.T) {
	tokens := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(guardtest.Edges), rapid.Uint64Range(1, 120), rapid.Uint64Min(1)), 1, 8)
	for _, guard := range guards {
		t.Run(guard.name, func(t *testing.T) {
			fresh := guard.maker(t)
			rapid.Check(t, func(r *rapid.T) { suite.Agree(r, fresh(), tokens.Draw(r, "tokens")) })
		})
	}
}

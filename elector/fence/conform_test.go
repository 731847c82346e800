package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"pgregory.net/rapid"
)

// guarded is a new resource behind some guard.
type guarded struct {
	write   func(token uint64) error
	highest func() (uint64, error) // nil if the guard does not tell
}

// guards are all guards, each as something that makes new resources. maker
// connects, once for a test.
var guards = []struct {
	name  string
	maker func(t *testing.T) func() guarded
}{
	{"Guard", func(*testing.T) func() guarded {
		return func() guarded {
			g := new(Guard)
			return guarded{g.Admit, func() (uint64, error) { return g.Highest(), nil }}
		}
	}},
	{"Guard.Do", func(*testing.T) func() guarded {
		return func() guarded {
			g := new(Guard)
			return guarded{write: func(token uint64) error { return g.Do(token, func() error { return nil }) }}
		}
	}},
	{"Memory", func(t *testing.T) func() guarded {
		m := new(Memory)
		return checked(t, m, func(resource string) (uint64, error) { return m.Highest(resource), nil })
	}},
	{"RedisGuard, miniredis", func(t *testing.T) func() guarded {
		g := NewRedisGuard(connect(t, miniredis.RunT(t).Addr()))
		return checked(t, g, func(resource string) (uint64, error) { return g.Highest(t.Context(), resource) })
	}},
	{"RedisGuard, redis-server", func(t *testing.T) func() guarded {
		g := NewRedisGuard(connect(t, startReal(t)))
		return checked(t, g, func(resource string) (uint64, error) { return g.Highest(t.Context(), resource) })
	}},
	{"SQL, PostgreSQL", func(t *testing.T) func() guarded {
		db, g := openPostgres(t)
		return checked(t, g.On(db), func(resource string) (uint64, error) { return g.Highest(t.Context(), db, resource) })
	}},
	{"SQL, pgx", func(t *testing.T) func() guarded {
		_, g := openPostgres(t)
		pool := PgxTx(openPool(t))
		return checked(t, g.On(pool), func(resource string) (uint64, error) { return g.Highest(t.Context(), pool, resource) })
	}},
	{"SQL.Do", func(t *testing.T) func() guarded {
		db, g := openPostgres(t)
		n := 0
		return func() guarded {
			n++
			resource := fmt.Sprint("resource", n)
			return guarded{write: func(token uint64) error {
				return g.Do(t.Context(), db, nil, token, resource, func(*sql.Tx) error { return nil })
			}}
		}
	}},
	{"Column, PostgreSQL", func(t *testing.T) func() guarded {
		db, g := openPostgres(t)
		execute(t, db, "CREATE TABLE "+g.Table+"_rows (id bigint PRIMARY KEY, x bigint, fence numeric(20,0))")
		return columned(t, db, Column{Table: g.Table + "_rows", Key: "id", Dialect: PostgreSQL})
	}},
	{"SQL, SQLite", func(t *testing.T) func() guarded {
		db, g := openSQLite(t)
		return checked(t, g.On(db), func(resource string) (uint64, error) { return g.Highest(t.Context(), db, resource) })
	}},
	{"Column, SQLite", func(t *testing.T) func() guarded {
		db, _ := openSQLite(t)
		db.execute(t, "CREATE TABLE r (id integer PRIMARY KEY, x integer, fence text)")
		return columned(t, db, Column{Table: "r", Key: "id", Dialect: SQLite})
	}},
	{"File.Check", filed(File.Check)},
	{"File.Append", filed(func(f File, ctx context.Context, token uint64) error { return f.Append(ctx, token, []byte("x")) })},
	{"File.Replace", filed(func(f File, ctx context.Context, token uint64) error { return f.Replace(ctx, token, []byte("x")) })},
	{"Handler", func(t *testing.T) func() guarded { return handled(t, new(Memory)) }},
	{"Handler on Redis", func(t *testing.T) func() guarded {
		return handled(t, NewRedisGuard(connect(t, miniredis.RunT(t).Addr())))
	}},
}

func checked(t *testing.T, guard Checker, highest func(string) (uint64, error)) func() guarded {
	n := 0
	return func() guarded {
		n++
		resource := fmt.Sprint("resource", n)
		return guarded{
			func(token uint64) error { return guard.Check(t.Context(), token, resource) },
			func() (uint64, error) { return highest(resource) },
		}
	}
}

func columned(t *testing.T, db SQLTx, column Column) func() guarded {
	n := 0
	return func() guarded {
		n++
		key := n
		if _, err := db.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO %s (id) VALUES (%d)", column.Table, key)); err != nil {
			t.Fatal(err)
		}
		return guarded{write: func(token uint64) error { return column.Update(t.Context(), db, token, key, "x = 1") }}
	}
}

func filed(write func(File, context.Context, uint64) error) func(*testing.T) func() guarded {
	return func(t *testing.T) func() guarded {
		folder, n := t.TempDir(), 0
		return func() guarded {
			n++
			f := File{Path: filepath.Join(folder, strconv.Itoa(n))}
			return guarded{
				func(token uint64) error { return write(f, t.Context(), token) },
				func() (uint64, error) { return f.Highest(t.Context()) },
			}
		}
	}
}

// handled goes all the way: token to header to guard to answer to error.
func handled(t *testing.T, guard Checker) func() guarded {
	handler := Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), guard, HandlerOptions{
		Resource: func(r *http.Request) (string, error) { return r.URL.Path, nil },
	})
	served := httptest.NewServer(handler)
	t.Cleanup(served.Close)
	n := 0
	return func() guarded {
		n++
		url := fmt.Sprint(served.URL, "/", n)
		return guarded{write: func(token uint64) error {
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

// sequence is where text, floating point and signed numbers go wrong.
var sequence = []struct {
	token uint64
	stale uint64 // 0: admitted
}{
	{0, 0}, {9, 0}, {9, 0}, {10, 0}, {9, 10}, {2, 10}, {10, 0}, {100, 0}, {99, 100}, {1, 100},
	{1<<53 - 1, 0}, {1 << 53, 0}, {1<<53 + 1, 0}, {1 << 53, 1<<53 + 1}, {1<<53 + 1, 0},
	{math.MaxInt64, 0}, {math.MaxInt64 + 1, 0}, {math.MaxInt64, math.MaxInt64 + 1}, {math.MaxInt64 + 1, 0},
	{math.MaxUint64 - 1, 0}, {math.MaxUint64, 0}, {math.MaxUint64 - 1, math.MaxUint64}, {math.MaxUint64, 0}, {1, math.MaxUint64}, {0, 0},
}

// All guards answer alike to the same tokens: they admit what is not smaller
// than the largest, refuse the rest with both, and refuse no token at all.
func TestAllGuardsAnswerAlike(t *testing.T) {
	for _, guard := range guards {
		t.Run(guard.name, func(t *testing.T) {
			fresh := guard.maker(t)
			g, other := fresh(), fresh()
			highest := uint64(0)
			for i, step := range sequence {
				err := g.write(step.token)
				switch {
				case step.token == 0:
					if !errors.Is(err, ErrNoToken) {
						t.Errorf("step %d, without a token: %v", i, err)
					}
				case step.stale > 0:
					wantStale(t, err, step.token, step.stale)
				case err != nil:
					t.Errorf("step %d, token %d: %v", i, step.token, err)
				}
				highest = max(highest, step.token)
				wantHighest(t, g, highest)
			}
			wantHighest(t, other, 0)
			if err := other.write(1); err != nil {
				t.Errorf("another resource: %v", err)
			}
		})
	}
}

// tester is *testing.T or *rapid.T.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
}

func wantHighest(t tester, g guarded, want uint64) {
	t.Helper()
	if g.highest == nil {
		return
	}
	if got, err := g.highest(); err != nil || got != want {
		t.Errorf("the highest token is %d, %v; want %d", got, err, want)
	}
}

// Whatever the sequence of tokens, every guard answers as the oracle does,
// which is one number.
func TestAllGuardsAgreeWithTheOracle(t *testing.T) {
	edges := []uint64{1, 9, 10, 11, 99, 100, 1<<53 - 1, 1 << 53, 1<<53 + 1, 1<<63 - 1, 1 << 63, 1<<63 + 1, math.MaxUint64 - 1, math.MaxUint64}
	tokens := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(edges), rapid.Uint64Range(1, 120), rapid.Uint64Min(1)), 1, 8)
	for _, guard := range guards {
		t.Run(guard.name, func(t *testing.T) {
			fresh := guard.maker(t)
			rapid.Check(t, func(r *rapid.T) {
				g, oracle := fresh(), uint64(0)
				for _, token := range tokens.Draw(r, "tokens") {
					err := g.write(token)
					var stale *StaleError
					switch {
					case token >= oracle && err != nil:
						r.Fatalf("token %d after %d was refused: %v", token, oracle, err)
					case token < oracle && (!errors.As(err, &stale) || *stale != StaleError{token, oracle}):
						r.Fatalf("token %d after %d: %v", token, oracle, err)
					}
					oracle = max(oracle, token)
					wantHighest(r, g, oracle)
				}
			})
		})
	}
}

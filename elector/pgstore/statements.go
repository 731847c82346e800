package pgstore

import (
	"embed"
	"fmt"
	"regexp"
	"strings"
)

// DefaultTable is the table of leases unless Options say otherwise.
const DefaultTable = "recount_lease"

// version is the comment on the table of leases, by which tables of another
// version are told apart.
const version = "recount leases, version 1"

//go:embed sql/*.sql
var texts embed.FS

// statements are the texts of sql/, for the tables of one store.
type statements struct {
	names [3]string // lease, candidate, term: as the server's to_regclass reads them

	schema, acquire, renew, release, leader, candidates, history, retire, evict, verify string
	lock, unlock, wait, prove, orphan, channel, preflight, place                        string

	nameless struct{ schema, acquire string } // where the server may not be named
}

// serverName is an expression that names the server and the table: its history and what
// of it this server has (no other server has the timeline, once it was promoted), and
// the table's file, which is another one when the table was emptied or made again.
// The timeline of pg_control_checkpoint is the one before until a checkpoint has
// ended, so it will not do.
const serverName = "(select system_identifier from pg_control_system()) || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)" +
	" || '/' || pg_relation_filenode('{lease}'::regclass)"

// nameless is in its place for a role that may not ask: the server is always the one
// that granted last.
const nameless = "coalesce((select b.id from {lease} b where b.election = ''), '')"

// tableName is what Options.Table may be. Whatever it allows needs no quotes
// to mean the same, and has room for the names of the other tables.
var tableName = regexp.MustCompile(`^([a-z_][a-z0-9_]{0,50}\.)?[a-z_][a-z0-9_]{0,50}$`)

func newStatements(table string) (*statements, error) {
	if table == "" {
		table = DefaultTable
	}
	if !tableName.MatchString(table) {
		return nil, fmt.Errorf("pgstore: Options.Table: is %q; it must be a name or schema.name of lower-case letters, digits and underscores, with at most 51 characters each", table)
	}
	s := &statements{names: [3]string{quoted(table), quoted(table + "_candidate"), quoted(table + "_term")}}
	number := "'" + s.names[0] + "'::regclass::oid"
	key := `hashtextextended($1::text collate "C", ` + number + "::bigint)"
	lock := "p.locktype = 'advisory' and p.granted and p.mode = 'ExclusiveLock' and p.objsubid = 1" +
		" and p.database = (select oid from pg_database where datname = current_database())" +
		" and (p.classid::bigint << 32 | p.objid::bigint) = " + key
	fill := strings.NewReplacer(
		"{lease}", s.names[0], "{candidate}", s.names[1], "{term}", s.names[2], "{version}", version,
		"{key}", key, "{this_lock}", lock, "{channel}", "'recount_' || "+number+" || '_'",
		"{locked_here}", "exists (select from pg_locks p where "+lock+" and p.pid = pg_backend_pid())",
	)
	named := strings.NewReplacer("{server}", serverName)
	for name, to := range map[string]*string{
		"schema": &s.schema, "acquire": &s.acquire, "renew": &s.renew, "release": &s.release, "leader": &s.leader,
		"candidates": &s.candidates, "history": &s.history, "retire": &s.retire, "evict": &s.evict, "verify": &s.verify,
		"lock": &s.lock, "unlock": &s.unlock, "wait": &s.wait, "prove": &s.prove, "orphan": &s.orphan, "preflight": &s.preflight,
		"place": &s.place,
	} {
		text, err := texts.ReadFile("sql/" + name + ".sql")
		if err != nil {
			return nil, err
		}
		*to = fill.Replace(named.Replace(bare(string(text))))
	}
	for named, to := range map[string]*string{s.schema: &s.nameless.schema, s.acquire: &s.nameless.acquire} {
		*to = strings.ReplaceAll(named, fill.Replace(serverName), fill.Replace(nameless))
	}
	s.channel = fill.Replace("select {channel} || $1::text")
	return s, nil
}

// quoted makes the parts of a name unmistakable: "user" is also a word of SQL.
func quoted(table string) string {
	return `"` + strings.ReplaceAll(table, ".", `"."`) + `"`
}

var comment = regexp.MustCompile(`(?m)--.*$`)

// bare is a text without its comments: they would be sent each time.
func bare(text string) string {
	return strings.TrimSpace(comment.ReplaceAllString(text, ""))
}

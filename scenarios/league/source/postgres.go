package source

// postgresBugs are in the store on PostgreSQL: in how it notices that its server is
// not the one that granted last.
func postgresBugs() []Bug {
	const statements, acquire = "elector/pgstore/statements.go", "elector/pgstore/sql/acquire.sql"
	return []Bug{
		{
			Name: "timeline-unnamed", Kind: Postgres, Breaks: []string{promoted},
			What: "a promoted standby is taken for the server that granted last",
			File: statements, Old: `substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)"`, New: `substr(pg_walfile_name(pg_current_wal_lsn()), 1, 0)"`,
		}, {
			Name: "count-is-trusted", Kind: Postgres, Breaks: []string{promoted},
			What: "tokens on a promoted standby go on from the count that it has",
			File: acquire, Old: "greatest($5::bigint, p.token, (select", New: "greatest($5::bigint, (select",
		}, {
			Name: "attempt-is-trusted", Kind: Postgres, Breaks: []string{promoted},
			What: "an attempt that is repeated on a promoted standby is granted the lease that the row says it has",
			File: acquire, Old: "when u.until > p.at then 'unsure'", New: "when u.until > p.at and not coalesce(l.until > p.at and l.id = $2::text and l.nonce = $3::text, false) then 'unsure'",
		}, {
			Name: "counts-from-look-to-look", Kind: Postgres, Breaks: []string{promoted},
			What: "the wait on a promoted standby is counted from each look anew, so it never ends",
			File: acquire, Old: "when m.id = s.name and m.renewed <= a.at then m.renewed else a.at", New: "when m.id = s.name and m.renewed < a.at - interval '1 day' then m.renewed else a.at",
		}, {
			Name: "tables-made-again", Kind: Postgres, Breaks: []string{promoted},
			What: "a table that was emptied and filled again is taken for the one before",
			File: statements, Old: "pg_relation_filenode('{lease}'::regclass)", New: "'{lease}'",
		},
	}
}

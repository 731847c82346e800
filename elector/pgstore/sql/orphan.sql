-- orphan finds a lease that outlives its session: the row says that it is held,
-- and nobody has the lock that its holder must have.
--
-- $1 election
--
-- Returns its token, or no row.
select l.token from {lease} l
where l.election = $1::text and l.session is not null and l.until > clock_timestamp()
  and not exists (select from pg_locks p where {this_lock})

-- leader tells who holds the lease.
--
-- $1 election
select l.id, l.token,
  ceil(extract(epoch from least(l.until, clock_timestamp() + interval '1 year') - clock_timestamp()) * 1000000)::bigint
from {lease} l where l.election = $1::text and l.until > clock_timestamp()

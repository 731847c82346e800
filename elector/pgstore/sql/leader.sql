-- leader tells who holds the lease, and what it publishes.
--
-- $1 election
select l.id, l.token,
  ceil(extract(epoch from least(l.until, clock_timestamp() + interval '1 year') - clock_timestamp()) * 1000000)::bigint,
  case when l.value_of = l.nonce then l.value end,
  case when l.value_of = l.nonce then l.value_version else 0 end
from {lease} l where l.election = $1::text and l.until > clock_timestamp()

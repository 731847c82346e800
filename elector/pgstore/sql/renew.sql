-- renew makes the lease last again, if it is still exactly this one and not
-- over. It never creates a row.
--
-- $1 election  $2 id  $3 nonce  $4 token  $5 ttl in milliseconds
-- $6 the session that the lease ends with, or null
--
-- The row is locked before the clock is read: a renewal that had to wait for
-- the row until the lease was over must not revive it.
with locked as materialized (
  select l.election, l.until from {lease} l
  where l.election = $1::text and l.id = $2::text and l.nonce = $3::text and l.token = $4::bigint
    and l.session is not distinct from $6::text
  for no key update
)
update {lease} l
set ttl = $5::bigint, renewed = clock_timestamp(),
    until = clock_timestamp() + $5::bigint * interval '1 millisecond'
from locked k
where l.election = k.election and k.until > clock_timestamp()
  and ($6::text is null or {locked_here})

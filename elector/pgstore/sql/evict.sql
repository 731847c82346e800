-- evict takes the lease away from its holder: no renewal, and no repetition of the attempt,
-- has the row's nonce any more. The row lasts as long as it would have, so nobody is
-- granted the lease while its holder may lead. A lease that is tied to a session is
-- left: its holder may end the session before it knows that it must end its work.
--
-- $1 election  $2 the token of the term that is to end; 0: of whichever there is
--
-- Returns who holds the lease, its token, its remaining time in microseconds, whether it
-- is tied to a session, and whether it was evicted; no row if nobody does.
with locked as materialized (
  select l.election, l.id, l.token, l.until, l.session is not null as tied
  from {lease} l where l.election = $1::text
  for no key update
),
evicted as (
  update {lease} l set nonce = '' from locked k
  where l.election = k.election and k.until > clock_timestamp() and not k.tied and $2::bigint in (0, k.token)
  returning l.token
)
select k.id, k.token,
  ceil(extract(epoch from least(k.until, clock_timestamp() + interval '1 year') - clock_timestamp()) * 1000000)::bigint,
  k.tied, exists (select from evicted)
from locked k where k.until > clock_timestamp()

-- candidates lists who was heard of within the last two leases, the holder by
-- its renewals. The microseconds since are never negative, whatever the clock
-- did.
--
-- $1 election
select id, max(priority)::bigint, greatest(min(extract(epoch from clock_timestamp() - seen) * 1000000), 0)::bigint
from (
  select c.id, c.priority, c.seen, c.ttl from {candidate} c where c.election = $1::text
  union all
  select l.id, coalesce((select c.priority from {candidate} c where c.election = $1::text and c.id = l.id), 0), l.renewed, l.ttl
  from {lease} l where l.election = $1::text and l.until > clock_timestamp()
) heard
where seen > clock_timestamp() - 2 * ttl * interval '1 millisecond'
group by id order by id collate "C"

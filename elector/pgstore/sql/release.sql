-- release ends the lease, if it is still exactly this one and not over, and
-- wakes those who wait for it.
--
-- $1 election  $2 id  $3 nonce  $4 token
-- $5 the candidate that the lease is handed over to; may be empty
-- $6 for how many milliseconds nobody else gets it
-- $7 the channel for hints, but for the table's number
-- $8 whether the session's lock is to be given back as well
--
-- Returns whether the lease was ended.
with locked as materialized (
  select l.election, l.until from {lease} l
  where l.election = $1::text and l.id = $2::text and l.nonce = $3::text and l.token = $4::bigint
  for no key update
),
ended as (
  -- -infinity, so that no clock that jumps back revives it.
  update {lease} l
  set until = '-infinity', renewed = clock_timestamp(), heir = nullif($5::text, ''),
      reserved = case when $5::text <> '' then clock_timestamp() + $6::bigint * interval '1 millisecond' end
  from locked k
  where l.election = k.election and k.until > clock_timestamp()
  returning l.token
),
closed as (
  update {term} t set ended = clock_timestamp()
  from ended e where t.election = $1::text and t.token = e.token
),
left_off as (
  delete from {candidate} c
  where c.election = $1::text and c.id = $2::text and exists (select from ended)
),
others as (
  select count(*) as waiting from {candidate} c
  where c.election = $1::text and c.id <> $2::text
    and c.seen > clock_timestamp() - 2 * c.ttl * interval '1 millisecond'
)
select
  exists (select from ended) as applied,
  (select count(pg_notify(
     {channel} || $7::text,
     'released ' || e.token || ' ' || $6::bigint || ' ' || o.waiting || ' ' || $1::text || ' ' || $5::text))
   from ended e, others o) as announced,
  case when $8::boolean then pg_advisory_unlock({key}) end as unlocked

-- renew makes the lease last again, if it is still exactly this one and not
-- over. It never creates a row.
--
-- $1 election  $2 id  $3 nonce  $4 token  $5 ttl in milliseconds
-- $6 the session that the lease ends with, or null
-- $7 what the leader publishes, and $8 its version; null if that is nothing
-- $9 the channel for hints, but for the table's number
--
-- The row is locked before the clock is read: a renewal that had to wait for
-- the row until the lease was over must not revive it. A value is taken if its
-- version is the latest: renewals may arrive in another order than they were sent in.
-- The server ends a session that has been silent for as long as the lease now lasts.
--
-- Returns whether the lease was renewed.
with locked as materialized (
  select l.election, l.until,
    coalesce($8::bigint > case when l.value_of = l.nonce then l.value_version else 0 end, false) as news
  from {lease} l
  where l.election = $1::text and l.id = $2::text and l.nonce = $3::text and l.token = $4::bigint
    and l.session is not distinct from $6::text
  for no key update
),
renewed as (
  update {lease} l
  set ttl = $5::bigint, renewed = clock_timestamp(),
      until = clock_timestamp() + $5::bigint * interval '1 millisecond',
      value = case when k.news then $7::bytea else l.value end,
      value_of = case when k.news then l.nonce else l.value_of end,
      value_version = case when k.news then $8::bigint else l.value_version end
  from locked k
  where l.election = k.election and k.until > clock_timestamp()
    and ($6::text is null or {locked_here})
  returning k.news
)
select
  exists (select from renewed) as applied,
  (select count(pg_notify({channel} || $9::text, 'published ' || $4::bigint || ' 0 0 ' || $1::text))
   from renewed r where r.news) as announced,
  (select set_config('idle_session_timeout', least($5::bigint, 2147483647) || 'ms', false)
   from renewed where $6::text is not null) as silence

-- acquire takes the lease if nobody holds it. It is idempotent by nonce.
--
-- $1 election  $2 id  $3 nonce  $4 ttl in milliseconds  $5 floor  $6 priority
-- $7 how many terms are remembered
-- $8 whether the lease may be granted at all; if not, it is only looked at
-- $9 the session that the lease ends with, or null
-- $10 whether leases of other sessions are over: the caller has the lock that
--     each of them must have
-- $11 the channel for hints, but for the table's number
-- $12 what the leader publishes, and $13 its version; null if that is nothing
-- $14 how long any lease of the election may last, in milliseconds; not below $4
--
-- Returns granted, the token, or null. Then state is 'held', 'unsure' (a lease may
-- have been granted that this server does not know of), 'reserved' (for an heir),
-- or, if it was only looked at or somebody was quicker since the look, 'own' (held
-- by this very attempt) or 'free'.
--
-- The row without an election names the server that granted last, and since when
-- (renewed) it does. A lease that an earlier one granted, and this one does not
-- know of, lasts no longer than $14 from then on, and its token is smaller than
-- the row's.
--
-- The first look takes no lock, so that candidates who are refused do not wait
-- for each other. The insert decides: "on conflict do update" locks the row
-- before it looks at it, so its clock_timestamp() is read after any wait.
-- now() would be the time at which the transaction began.
with
asked as materialized (
  select clock_timestamp() as at, $4::bigint * interval '1 millisecond' as ttl
),
heard as (
  insert into {candidate} (election, id, priority, seen, ttl)
  select $1::text, $2::text, $6::bigint, a.at, $4::bigint from asked a
  where not exists (
    select from {candidate} c
    where c.election = $1::text and c.id = $2::text and c.priority = $6::bigint and c.ttl = $4::bigint
      and c.seen between a.at - a.ttl / 4 and a.at)
  on conflict (election, id) do update
  set priority = excluded.priority, seen = excluded.seen, ttl = excluded.ttl
),
place as materialized (
  select s.name, a.at, coalesce(m.token, 0) as token,
    m.id is distinct from s.name or m.renewed > a.at as strange, -- or its clock went back
    case when m.id = s.name and m.renewed <= a.at then m.renewed else a.at end as since
  from asked a cross join (select {server} as name offset 0) s left join {lease} m on m.election = ''
),
noted as (
  insert into {lease} as m (election, id, nonce, token, ttl, renewed, until)
  select '', p.name, '', (extract(epoch from p.at) * 1000000)::bigint, 0, p.at, '-infinity' from place p where p.strange
  on conflict (election) do update
  set id = excluded.id, token = greatest(m.token, excluded.token), renewed = excluded.renewed
  where m.id <> excluded.id or m.renewed > excluded.renewed
),
seen as materialized (
  select l.id, l.token, l.until, l.reserved, l.session is not null as tied, u.until as unsure,
    case
      when l.until > p.at and not (l.id = $2::text and l.nonce = $3::text) and not ($10::boolean and l.session is not null) then 'held'
      when u.until > p.at then 'unsure'
      when l.until > p.at and l.id = $2::text and l.nonce = $3::text then 'own'
      when l.heir <> $2::text and p.at between l.renewed and l.reserved then 'reserved'
      else 'free'
    end as state,
    l.until > p.at + greatest(l.ttl, $14::bigint) * interval '1 millisecond' as endless
  from place p left join {lease} l on l.election = $1::text
    cross join lateral (select p.since + greatest(l.ttl, $14::bigint) * interval '1 millisecond' as until) u
),
repaired as (
  update {lease} l
  set until = clock_timestamp() + greatest(l.ttl, $14::bigint) * interval '1 millisecond'
  from seen s
  where l.election = $1::text and s.state = 'held' and s.endless and l.token = s.token and l.until = s.until
  returning l.until
),
taken as (
  insert into {lease} as l (election, id, nonce, token, ttl, renewed, until, session, value, value_of, value_version)
  select $1::text, $2::text, $3::text,
    greatest($5::bigint, p.token, (select max(t.token) from {term} t where t.election = $1::text)) + 1,
    $4::bigint, clock_timestamp(), clock_timestamp() + $4::bigint * interval '1 millisecond', $9::text,
    $12::bytea, case when $13::bigint is not null then $3::text end, $13::bigint
  from place p, seen s
  where $8::boolean and s.state in ('own', 'free')
  on conflict (election) do update
  set token = case
        when l.id = excluded.id and l.nonce = excluded.nonce and l.until > clock_timestamp() then l.token
        else greatest(l.token + 1, excluded.token)
      end,
      id = excluded.id, nonce = excluded.nonce, ttl = excluded.ttl, session = excluded.session,
      renewed = clock_timestamp(), until = clock_timestamp() + excluded.ttl * interval '1 millisecond',
      heir = null, reserved = null,
      value = case when l.value_of = excluded.nonce and l.until > clock_timestamp() then l.value else excluded.value end,
      value_of = case when l.value_of = excluded.nonce and l.until > clock_timestamp() then l.value_of else excluded.value_of end,
      value_version = case when l.value_of = excluded.nonce and l.until > clock_timestamp() then l.value_version else excluded.value_version end
  where l.id = excluded.id and l.nonce = excluded.nonce and l.until > clock_timestamp()
    or (l.until <= clock_timestamp() or $10::boolean and l.session is not null)
      and (l.heir is null or l.heir = excluded.id or not clock_timestamp() between l.renewed and l.reserved)
  returning l.token
),
began as (
  insert into {term} (election, token, id, began)
  select $1::text, t.token, $2::text, clock_timestamp() from taken t
  on conflict do nothing
  returning token
),
trimmed as (
  delete from {term} t
  where t.election = $1::text and exists (select from began)
    and t.token <= (
      select o.token from {term} o where o.election = $1::text
      order by o.token desc offset $7::bigint - 1 limit 1)
),
gone as (
  -- Locked ones are skipped: they are heard of just now, and may wait for us.
  select c.id from {candidate} c, asked a
  where c.election = $1::text and c.id <> $2::text and exists (select from began)
    and c.seen < a.at - 10 * greatest(c.ttl, $4::bigint) * interval '1 millisecond'
  for update of c skip locked
),
forgotten as (
  delete from {candidate} c using gone g where c.election = $1::text and c.id = g.id
),
others as (
  select count(*) as waiting from {candidate} c, asked a
  where c.election = $1::text and c.seen > a.at - 2 * c.ttl * interval '1 millisecond'
    and c.id <> coalesce((select s.id from seen s where s.state = 'held'), $2::text)
)
select
  t.token as granted,
  s.state,
  coalesce(s.id, '') as holder,
  coalesce(s.token, 0) as token,
  coalesce(s.tied, false) as tied,
  coalesce(ceil(extract(epoch from
    least(
      case s.state
        when 'held' then greatest(coalesce((select until from repaired), s.until), clock_timestamp())
        when 'unsure' then greatest(s.unsure, clock_timestamp())
        when 'reserved' then greatest(s.reserved, clock_timestamp())
        else clock_timestamp()
      end,
      clock_timestamp() + interval '1 year') - clock_timestamp()) * 1000000), 0)::bigint as remaining,
  o.waiting,
  exists (select from repaired) as repaired,
  (select count(pg_notify(
     {channel} || $11::text, 'granted ' || b.token || ' ' || $4::bigint || ' ' || o.waiting || ' ' || $1::text))
   from began b) as announced
from others o cross join seen s left join taken t on true

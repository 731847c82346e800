-- schema is what Migrate creates. It may be run again and changes nothing then.

-- One row for each election there ever was. It outlives the lease, because it
-- keeps the count of tokens. The row without an election is the server's: id names
-- the one that granted last, renewed is since when it does, and every later token is
-- larger than this one's.
create table if not exists {lease} (
  election text collate "C" primary key,
  id       text collate "C" not null, -- the candidate that holds it, or held it last
  nonce    text collate "C" not null,
  token    bigint not null,
  ttl      bigint not null,           -- milliseconds
  renewed  timestamptz not null,      -- or granted, or released
  until    timestamptz not null,      -- -infinity once it was released
  session  text,                      -- that the lease ends with; null if with none
  heir     text collate "C",          -- the candidate that it was handed over to
  reserved timestamptz,               -- until when nobody else gets it
  value    bytea,                     -- that the leader publishes
  value_of text collate "C",          -- the nonce of the lease in which it did; the value is nobody else's
  value_version bigint                -- counts those of the lease
) with (fillfactor = 50);             -- so that a renewal touches no index

-- Tables of before there were values. Programs of that time go on with the columns.
alter table {lease} add column if not exists value bytea,
  add column if not exists value_of text collate "C",
  add column if not exists value_version bigint;

-- When a candidate last tried to acquire. The holder is heard of by renewals.
create table if not exists {candidate} (
  election text collate "C" not null,
  id       text collate "C" not null,
  priority bigint not null,
  seen     timestamptz not null,
  ttl      bigint not null,
  primary key (election, id)
) with (fillfactor = 50);

-- The last terms.
create table if not exists {term} (
  election text collate "C" not null,
  token    bigint not null,
  id       text collate "C" not null,
  began    timestamptz not null,
  ended    timestamptz, -- of the release
  primary key (election, token)
);

-- Nothing was granted before there were tables.
insert into {lease} (election, id, nonce, token, ttl, renewed, until)
values ('', {server}, '', 0, 0, '-infinity', '-infinity')
on conflict do nothing;

comment on table {lease} is '{version}';

-- retire removes everything of an election, unless its lease is held.
--
-- $1 election
--
-- Returns whether there is nothing of it any more.
with locked as materialized (
  select l.election, l.until from {lease} l where l.election = $1::text for update
),
removed as (
  delete from {lease} l using locked k where l.election = k.election and k.until <= clock_timestamp()
  returning l.election
),
free as (select exists (select from removed) or not exists (select from locked) as yes),
terms as (delete from {term} t using free where t.election = $1::text and free.yes),
candidates as (delete from {candidate} c using free where c.election = $1::text and free.yes)
select yes from free

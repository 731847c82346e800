-- preflight reads what the guarantee hangs on. Settings that this version of
-- the server does not have are empty.
select
  pg_is_in_recovery(),
  current_setting('server_version'),
  current_setting('server_version_num')::bigint,
  pg_backend_pid()::bigint,
  pg_notification_queue_usage()::float8,
  clock_timestamp(),
  s.names, s.settings
from (
  select array_agg(n order by n), array_agg(coalesce(current_setting(n, true), '') order by n)
  from unnest($1::text[]) n
) s(names, settings)

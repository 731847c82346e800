-- lock takes the election's lock for the session, if it is free, and makes the
-- server end the session when it has been silent for longer than the lease:
-- a session that holds a lock and is cut off must not hold it for ever. Keepalives
-- tell it of a client's machine that is gone.
--
-- $1 election  $2 ttl in milliseconds
--
-- Returns whether it is taken, and the number of the server's process.
select taken, pg_backend_pid()::bigint,
  case when taken then
    set_config('idle_session_timeout', $2::bigint || 'ms', false)
    || set_config('tcp_keepalives_idle', '2', false)
    || set_config('tcp_keepalives_interval', '1', false)
    || set_config('tcp_keepalives_count', '3', false)
  else '' end
from (select pg_try_advisory_lock({key}) as taken offset 0) t

-- wait waits until the lock is free or a short time is over, in which case it
-- fails with lock_not_available. It does not keep the lock.
--
-- $1 election  $2 milliseconds
select set_config('lock_timeout', $2::bigint || 'ms', true), pg_advisory_xact_lock({key})::text

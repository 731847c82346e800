-- unlock gives the election's lock back, so that others may use the session.
--
-- $1 election
select pg_advisory_unlock({key}), set_config('idle_session_timeout', '0', false)

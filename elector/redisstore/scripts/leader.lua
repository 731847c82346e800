-- leader tells who holds the lease. It changes nothing.
--
-- KEYS[1]  lease    string with a time to live
--
-- Returns {token, id, remaining ms}, token '0' and the whole value as id if no
-- elector wrote it, remaining -1 if it has no time to live; {} if nobody holds
-- the lease.
local value = redis.call('GET', KEYS[1])
if not value then return {} end
local token, _, id = parse(value)
return {token or '0', id or value, redis.call('PTTL', KEYS[1])}

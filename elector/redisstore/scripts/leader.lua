-- leader tells who holds the lease, and what it publishes. It changes nothing. A replica
-- may be one that has lost its primary, and does not answer.
--
-- KEYS[1]  lease    string with a time to live
-- KEYS[2]  guard    hash, see guard.lua
--
-- Returns {token, id, remaining ms, value, version}, token '0' and the whole value of
-- the lease as id if no elector wrote it, remaining -1 if it has no time to live, an
-- empty value and 0 if nothing is published; {} if nobody holds the lease.
if not history() then return replica() end
local value = call('GET', KEYS[1])
if not value then return {} end
local token, nonce, id = parse(value)
local version, text
if token then version, text = published(try('HGET', KEYS[2], 'published'), token, nonce) end
return {token or '0', id or value, call('PTTL', KEYS[1]), text or '', version or 0}

-- release ends the lease, if it is still exactly this one, and wakes those who
-- wait for it.
--
-- KEYS[1]  lease    string with a time to live
-- KEYS[2]  audit    list; absent if there is no audit
-- ARGV[1]  value    the lease's whole value: id, nonce and token
-- ARGV[2]  channel  for hints
-- ARGV[3]  nonce    for the audit, as is the next one
-- ARGV[4]  request
-- ARGV[5]  token
--
-- Returns 1 if the lease was ended, else 0.
local held = redis.call('GET', KEYS[1]) == ARGV[1]
local applied = held and 1 or 0
if held then redis.call('DEL', KEYS[1]) end
audit(KEYS[2], 'release', ARGV[3], ARGV[4], ARGV[5], applied)
if held then announce(ARGV[2], 'released ' .. ARGV[5] .. ' ' .. waiters(ARGV[2])) end
return applied

-- renew makes the lease last again, if it is still exactly this one. It never
-- creates a key: a lease that is gone may be another's by the next command.
--
-- KEYS[1]  lease    string with a time to live
-- KEYS[2]  audit    list; absent if there is no audit
-- ARGV[1]  value    the lease's whole value: id, nonce and token
-- ARGV[2]  ttl      in milliseconds
-- ARGV[3]  nonce    for the audit, as are the next two
-- ARGV[4]  request
-- ARGV[5]  token
--
-- Returns 1 if the lease was extended, else 0.
local held = redis.call('GET', KEYS[1]) == ARGV[1]
if held then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
local applied = held and 1 or 0
audit(KEYS[2], 'renew', ARGV[3], ARGV[4], ARGV[5], applied)
return applied

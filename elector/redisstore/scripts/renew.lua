-- renew makes the lease last again, if it is still exactly this one. It never
-- creates a key: a lease that is gone may be another's by the next command.
--
-- KEYS[1]  lease       string with a time to live
-- KEYS[2]  guard       hash, see shared.lua
-- KEYS[3]  candidates  hash
-- KEYS[4]  audit       list; absent if there is no audit
-- ARGV[1]  value       the lease's whole value: id, nonce and token
-- ARGV[2]  ttl         in milliseconds
-- ARGV[3]  nonce       for the audit, as are the next two
-- ARGV[4]  request
-- ARGV[5]  token
-- ARGV[6]  id          the candidate, for those who look, as is the next one
-- ARGV[7]  priority
-- ARGV[8]  protect     as acquire has it
--
-- Returns 1 if the lease was extended, else 0.
local lease, guard, ttl = KEYS[1], KEYS[2], ARGV[2]
local held = redis.call('GET', lease) == ARGV[1]
if held then
  local known = history(ARGV[8])
  if not known then return replica() end
  local _, now = clock()
  if redis.call('HGET', guard, 'history') == known then
    redis.call('PEXPIREAT', lease, now + ttl)
    redis.call('HSET', guard, 'until', now + ttl)
  else
    -- A server that took over from another one may answer for the lease from now
    -- on. But the renewal may be an old one, and the server may have forgotten who
    -- was granted a lease since: when that one is over, the next may be granted.
    local longest = math.max(tonumber(redis.call('HGET', guard, 'longest')) or 0, tonumber(ttl))
    hold(lease, guard, ARGV[1], known, now + ttl, ttl)
    redis.call('HSET', guard, 'unsure', now + longest, 'seed', 1)
  end
  heard(KEYS[3], ARGV[6], now, ttl, ARGV[7])
end
local applied = held and 1 or 0
audit(KEYS[4], 'renew', ARGV[3], ARGV[4], ARGV[5], applied)
return applied

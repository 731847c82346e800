-- release ends the lease, if it is still exactly this one, and wakes those who
-- wait for it. If the lease's key is gone already (deleted, evicted), its holder
-- says here that nobody believes in it any more: it need not be waited for.
--
-- KEYS[1]  lease     string with a time to live
-- KEYS[2]  guard     hash, see shared.lua
-- KEYS[3]  terms     list
-- KEYS[4]  audit     list; absent if there is no audit
-- ARGV[1]  value     the lease's whole value: id, nonce and token
-- ARGV[2]  channel   for hints
-- ARGV[3]  nonce     for the audit, as are the next two
-- ARGV[4]  request
-- ARGV[5]  token
-- ARGV[6]  to        the candidate that the lease is handed over to; may be empty
-- ARGV[7]  reserved  for how many milliseconds nobody else gets it
--
-- Returns 1 if the lease was ended, else 0.
local lease, guard, to = KEYS[1], KEYS[2], ARGV[6]
local value = redis.call('GET', lease)
local held = value == ARGV[1]
local applied = held and 1 or 0
local known = redis.call('HMGET', guard, 'value', 'until')
local _, now = clock()
local over = known[1] == ARGV[1] and (held or not value and (tonumber(known[2]) or 0) > now)
if held then redis.call('DEL', lease) end
if over then redis.call('HSET', guard, 'until', 0) end
if held and to ~= '' then redis.call('HSET', guard, 'to', to, 'reserved', now + ARGV[7]) end
audit(KEYS[4], 'release', ARGV[3], ARGV[4], ARGV[5], applied)
if held then remember(KEYS[3], 'e ' .. ARGV[5] .. ' ' .. now) end
if held or over then
  local text = 'released ' .. ARGV[5] .. ' ' .. waiters(ARGV[2])
  if to ~= '' then text = text .. ' ' .. ARGV[7] .. ' ' .. to end
  announce(ARGV[2], text)
end
return applied

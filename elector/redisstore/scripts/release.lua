-- release ends the lease, if it is still exactly this one, and wakes those who
-- wait for it: the one that was refused last asks at once, and the others a little
-- later. If the lease's key is gone already (deleted, evicted), its holder says
-- here that nobody believes in it any more: it need not be waited for.
--
-- KEYS[1]  lease       string with a time to live
-- KEYS[2]  guard       hash, see shared.lua
-- KEYS[3]  candidates  hash, see shared.lua
-- KEYS[4]  terms       list
-- KEYS[5]  audit       list; absent if there is no audit
-- ARGV[1]  value       the lease's whole value: id, nonce and token
-- ARGV[2]  channel     for hints
-- ARGV[3]  nonce       for the audit, as are the next two
-- ARGV[4]  request
-- ARGV[5]  token
-- ARGV[6]  to          the candidate that the lease is handed over to; may be empty
-- ARGV[7]  reserved    for how many milliseconds nobody else gets it
-- ARGV[8]  id          the candidate, for those who look, as are the next ones
-- ARGV[9]  ttl         that it asks for, in milliseconds; 0: nobody need know it
-- ARGV[10] priority
-- ARGV[11] longest     as acquire has it
--
-- Returns 1 if the lease was ended, else 0.
local lease, guard, to, reserved = KEYS[1], KEYS[2], ARGV[6], ARGV[7]
local value = redis.call('GET', lease)
local held = value == ARGV[1]
local applied = held and 1 or 0
local known = redis.call('HMGET', guard, 'value', 'until')
local _, now = clock()
local over = known[1] == ARGV[1] and (held or not value and (tonumber(known[2]) or 0) > now)
if held then redis.call('DEL', lease) end
if over then redis.call('HSET', guard, 'until', now) end
if held and to ~= '' then redis.call('HSET', guard, 'to', to, 'reserved', now + reserved) end
audit(KEYS[5], 'release', ARGV[3], ARGV[4], ARGV[5], applied)
if held then
  remember(KEYS[4], 'e ' .. ARGV[5] .. ' ' .. now)
  if ARGV[9] ~= '0' then heard(KEYS[3], ARGV[8], now, ARGV[9], ARGV[10], ARGV[11]) end
end
if held or over then
  if to == '' then
    local next = redis.pcall('HGET', KEYS[3], '')
    if type(next) == 'string' and next ~= ARGV[8] then to, reserved = next, 0 end
  end
  local text = 'released ' .. ARGV[5]
  if to ~= '' then text = text .. ' ' .. reserved .. ' ' .. to end
  announce(ARGV[2], text)
end
return applied

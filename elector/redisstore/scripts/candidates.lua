-- candidates lists who was heard of within two leases: when it asked, or held the
-- lease last. It changes nothing.
--
-- KEYS[1]  candidates  hash
-- KEYS[2]  guard       hash, see guard.lua
-- KEYS[3]  witness     hash, see witness.lua
--
-- Returns {id, milliseconds ago, priority, ...}.
if not history() then return replica() end
local out, now = {}, clock()
local g = call('HMGET', KEYS[2], 'value', 'lasts')
local ends = tonumber(call('HGET', KEYS[3], 'of ' .. KEYS[2])) or 0
local _, _, holder = parse(g[1] or '')
local all = call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local at, lasts, priority = line(all[i + 1])
  if at and all[i] == holder then at = math.max(at, ends - (tonumber(g[2]) or 0)) end
  if at and now - at <= 2 * lasts then
    out[#out + 1] = all[i]
    out[#out + 1] = math.max(now - at, 0)
    out[#out + 1] = priority
  end
end
return out

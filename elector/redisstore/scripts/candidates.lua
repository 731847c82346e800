-- candidates lists who was heard of within two leases. It changes nothing.
--
-- KEYS[1]  candidates  hash
--
-- Returns {id, milliseconds ago, priority, ...}.
local out = {}
local all = redis.call('HGETALL', KEYS[1])
local _, now = clock()
for i = 1, #all, 2 do
  local at, lasts, priority = string.match(all[i + 1], '^(%d+) (%d+) (-?%d+)$')
  if at and now - at <= 2 * lasts then
    out[#out + 1] = all[i]
    out[#out + 1] = math.max(now - at, 0)
    out[#out + 1] = priority
  end
end
return out

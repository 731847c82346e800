-- line reads what noted wrote; nothing for what others did.
local function line(note)
  local at, lasts, priority, longest, request = string.match(note, '^(%d+) (%d+) (-?%d+) (%d+) (%d+)$')
  if not at then return end
  return tonumber(at), tonumber(lasts), priority, tonumber(longest), tonumber(request)
end

-- forget removes the candidates that were not heard of for long, if there are
-- many more than listen. It looks in one millisecond of some.
local function forget(candidates, now, listening)
  if now % 16 ~= 0 then return end
  local known = try('HLEN', candidates)
  if type(known) ~= 'number' or known <= 2 * listening + 32 then return end
  local all = try('HGETALL', candidates)
  if type(all) ~= 'table' or all.err then return end
  for i = 1, #all, 2 do
    local at, lasts = line(all[i + 1])
    if all[i] ~= '' and (not at or at + 4 * lasts < now) then try('HDEL', candidates, all[i]) end
  end
end


-- retire removes everything of an election, unless its lease is held, or may be
-- believed in.
--
-- KEYS[1]    lease    string with a time to live
-- KEYS[2]    guard    hash, see guard.lua
-- KEYS[3]    witness  hash, see witness.lua
-- KEYS[4..]  the other keys of the election
-- ARGV[1]    protect  as acquire has it
--
-- Returns {} if everything is gone, else {token, id, remaining ms} as leader, token
-- '0' and no id if nobody holds the lease.
local value = call('GET', KEYS[1])
if value then
  local token, _, id = parse(value)
  return {token or '0', id or value, call('PTTL', KEYS[1])}
end
local known = history()
if not known then return replica() end
local now = clock()
if ARGV[1] ~= '0' then
  local g = call('HMGET', KEYS[2], 'unsure', 'longest')
  local since, ends = remembers(KEYS[3], KEYS[2], known, now)
  local most = tonumber(g[2]) or math.max(ends - now, 0)
  local rest = math.min(math.max(tonumber(g[1]) or 0, ends, since + most) - now, most)
  if rest > 0 then return {'0', '', rest} end
end
call('DEL', KEYS[2], unpack(KEYS, 4))
call('HDEL', KEYS[3], 'of ' .. KEYS[2])
return {}

-- retire removes everything of an election, unless its lease is held, or may be
-- believed in.
--
-- KEYS[1]    lease    string with a time to live
-- KEYS[2]    guard    hash, see guard.lua
-- KEYS[3]    witness  hash, see acquire.lua; the guard again where there is none
-- KEYS[4..]  the other keys of the election
--
-- Returns {} if everything is gone, else {token, id, remaining ms} as leader, token
-- '0' and no id if nobody holds the lease.
local value = call('GET', KEYS[1])
if value then
  local token, _, id = parse(value)
  return {token or '0', id or value, call('PTTL', KEYS[1])}
end
local g = call('HMGET', KEYS[2], 'until', 'unsure', 'longest')
local now = clock()
local rest = math.min(math.max(tonumber(g[1]) or 0, tonumber(g[2]) or 0) - now, tonumber(g[3]) or 0)
if rest > 0 then return {'0', '', rest} end
call('DEL', unpack(KEYS, 4))
-- Where the guard was lost, the witness goes on saying so: somebody may believe in a
-- lease that nobody knows of any more.
if call('DEL', KEYS[2]) == 1 and KEYS[3] ~= KEYS[2] then call('HDEL', KEYS[3], 'of ' .. KEYS[2]) end
return {}

-- retire removes everything of an election, unless its lease is held.
--
-- KEYS[1]    lease   string with a time to live
-- KEYS[2..]  the other keys of the election
--
-- Returns {} if everything is gone, else {token, id, remaining ms} as leader.
local value = redis.call('GET', KEYS[1])
if value then
  local token, _, id = parse(value)
  return {token or '0', id or value, redis.call('PTTL', KEYS[1])}
end
redis.call('DEL', unpack(KEYS, 2))
return {}

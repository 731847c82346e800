-- What follows a script whose keys are not to stay: all but the lease, which is the
-- first of them and has a time to live of its own, get another AFTER milliseconds
-- before half of those are over.
local reply = script()
for i = 2, #KEYS do
  local left = redis.call('PTTL', KEYS[i])
  if left == -1 or left >= 0 and 2 * left < AFTER then redis.call('PEXPIRE', KEYS[i], AFTER) end
end
return reply

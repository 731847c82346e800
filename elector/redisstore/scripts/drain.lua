-- drain returns the audit's lines so far, oldest first, and removes them.
--
-- KEYS[1]  audit    list
local lines = redis.call('LRANGE', KEYS[1], 0, -1)
redis.call('DEL', KEYS[1])
return lines

-- What several scripts use; it is put in front of each of them.

-- clock is the server's time in microseconds, as text, and in milliseconds.
local function clock()
  local time = redis.call('TIME')
  return time[1] .. string.rep('0', 6 - #time[2]) .. time[2], time[1] * 1000 + math.floor(time[2] / 1000)
end

-- audit appends one line to the list, if there is a list: the server's time in
-- microseconds, call, nonce, request number, token, applied (0 or 1). Redis
-- runs one script at a time, so the list is in the order of execution.
local function audit(list, call, nonce, request, token, applied)
  if not list then return end
  redis.call('RPUSH', list, table.concat({clock(), call, nonce, request, token, applied}, ' '))
end

-- waiters tells how many connections listen on the channel. It is a hint, so a
-- server that forbids or lacks the command is no error: 0.
local function waiters(channel)
  local reply = redis.pcall('PUBSUB', 'NUMSUB', channel)
  if type(reply) ~= 'table' or reply.err then return 0 end
  return tonumber(reply[2]) or 0
end

-- announce publishes a hint. Hints may be lost, so a server that forbids it is
-- no error.
local function announce(channel, text)
  redis.pcall('PUBLISH', channel, text)
end

-- parse takes a lease's value apart: "r1 TOKEN NONCE ID". The id stands last
-- and may contain anything; nonces have no spaces. Nothing for a value that
-- somebody else wrote.
local function parse(value)
  return string.match(value, '^r1 (%d+) (%S+) (.*)$')
end

-- replica is the answer to who asks a replica for what only a primary can give.
local function replica()
  return redis.error_reply('READONLY this server is a replica')
end

-- The guard is a hash that outlives the lease and tells what the lease's key
-- cannot once it is gone:
--
--   history   in which the lease was granted or renewed last
--   until     the end of the lease, in milliseconds of the server's time; 0 once
--             it was released
--   unsure    until when a lease of another history may last. No release ends it:
--             whoever gives a lease back does not know of the other
--   longest   how long leases last, in milliseconds
--   value     of the lease
--   seed      1: the count of tokens may be an old one
--   to        the candidate that the lease was handed over to
--   reserved  until when nobody else gets it
--
-- hold notes that the lease lasts until then, and makes it so. Key and guard
-- name the same moment: a candidate that comes when the key is over must not
-- be told to wait by the guard.
local function hold(lease, guard, value, known, ends, ttl)
  redis.call('PEXPIREAT', lease, ends)
  redis.call('HSET', guard, 'history', known, 'until', ends, 'longest', ttl, 'value', value)
end

-- heard notes that a candidate lives: "MILLISECONDS TTL PRIORITY". Nothing
-- depends on it.
local function heard(candidates, id, now, ttl, priority)
  redis.pcall('HSET', candidates, id, now .. ' ' .. ttl .. ' ' .. priority)
end

-- forget removes the candidates that were not heard of for long, if there are
-- many more than listen.
local function forget(candidates, now, listening)
  local known = redis.pcall('HLEN', candidates)
  if type(known) ~= 'number' or known <= 2 * listening + 32 then return end
  local all = redis.pcall('HGETALL', candidates)
  if type(all) ~= 'table' or all.err then return end
  for i = 1, #all, 2 do
    local at, lasts = string.match(all[i + 1], '^(%d+) (%d+) ')
    if not at or tonumber(at) + 4 * tonumber(lasts) < now then redis.pcall('HDEL', candidates, all[i]) end
  end
end

-- remember notes the begin or the end of a term. Nothing depends on it.
local function remember(terms, line)
  local kept = redis.pcall('LPUSH', terms, line)
  if type(kept) == 'number' and kept >= 512 then redis.pcall('LTRIM', terms, 0, 255) end
end

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

-- announce publishes a hint, and tells how many connections got it. Hints may be
-- lost, so a server that forbids it is no error: 0.
local function announce(channel, text)
  local reply = redis.pcall('PUBLISH', channel, text)
  return type(reply) == 'number' and reply or 0
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
--   until     the end of the lease, in milliseconds of the server's time: when it was
--             released, once it was
--   unsure    until when a lease of another history may last. No release ends it:
--             whoever gives a lease back does not know of the other
--   longest   how long, in milliseconds, any lease of the election may last, as
--             whoever was granted it last counts on
--   lasts     how long the last one lasts from a grant or renewal on
--   value     of the lease
--   seed      1: the count of tokens may be an old one
--   to        the candidate that the lease was handed over to
--   reserved  until when nobody else gets it
--   published what the leader publishes, see publication
--
-- hold notes that the lease lasts until then. Key and guard name the same moment:
-- a candidate that comes when the key is over must not be told to wait by the
-- guard. It may note a publication as well.
local function hold(guard, value, known, ends, ttl, longest, note)
  local fields = {'history', known, 'until', ends, 'longest', longest, 'lasts', ttl, 'value', value}
  if note then
    fields[11], fields[12] = 'published', note
  end
  redis.call('HSET', guard, unpack(fields))
end

-- publication is what the guard notes of a value that a leader publishes: "TOKEN NONCE
-- VERSION VALUE". Token and nonce are the lease's: when that is over, it is nobody's.
local function publication(token, nonce, version, value)
  return table.concat({token, nonce, version, value}, ' ')
end

-- published is the version and the value of what is noted, if it is of that lease.
local function published(note, token, nonce)
  if type(note) ~= 'string' then return end
  local t, n, version, value = string.match(note, '^(%d+) (%S+) (%d+) (.*)$')
  if t == token and n == nonce then return tonumber(version), value end
end

-- The candidates are a hash of those who were heard of: for each id, when that was,
-- the ttl that it asks for, its priority, and how long leases may last as it counts
-- on, if that is not its ttl. The field without a name holds the attempt that was
-- refused last, "AT TTL LONGEST FLOOR REQUEST BEACON NONCE ID". It is a bid if the
-- beacon is not "-": as long as somebody listens there, the candidate hears of it if
-- the lease is passed on to this attempt.
--
-- noted is what the candidates say of one.
local function noted(now, ttl, priority, longest)
  local note = now .. ' ' .. ttl .. ' ' .. priority
  if longest ~= ttl then note = note .. ' ' .. longest end
  return note
end

-- heard notes that a candidate lives.
local function heard(candidates, id, now, ttl, priority, longest)
  redis.pcall('HSET', candidates, id, noted(now, ttl, priority, longest))
end

-- line reads what heard wrote; nothing for what others did.
local function line(note)
  local at, lasts, priority, longest = string.match(note, '^(%d+) (%d+) (-?%d+) ?(%d*)$')
  if not at then return end
  return tonumber(at), tonumber(lasts), priority, tonumber(longest) or tonumber(lasts)
end

-- refusedLast takes the text of the attempt that was refused last apart; nothing if it
-- is none.
local function refusedLast(text)
  return string.match(text, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%S+) (%S+) (.*)$')
end

-- forget removes the candidates that were not heard of for long, if there are
-- many more than listen. It looks in one millisecond of some.
local function forget(candidates, now, listening)
  if now % 16 ~= 0 then return end
  local known = redis.pcall('HLEN', candidates)
  if type(known) ~= 'number' or known <= 2 * listening + 32 then return end
  local all = redis.pcall('HGETALL', candidates)
  if type(all) ~= 'table' or all.err then return end
  for i = 1, #all, 2 do
    local at, lasts = line(all[i + 1])
    if all[i] ~= '' and (not at or at + 4 * lasts < now) then redis.pcall('HDEL', candidates, all[i]) end
  end
end

-- remember notes the begin or the end of a term. Nothing depends on it.
local function remember(terms, line)
  local kept = redis.pcall('LPUSH', terms, line)
  if type(kept) == 'number' and kept >= 512 then redis.pcall('LTRIM', terms, 0, 255) end
end

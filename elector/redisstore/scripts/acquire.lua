-- acquire takes the lease if nobody holds it. It is idempotent by nonce.
--
-- KEYS[1]  lease       string with a time to live
-- KEYS[2]  counter     string, the last token handed out, in decimal
-- KEYS[3]  guard       hash, see shared.lua
-- KEYS[4]  candidates  hash
-- KEYS[5]  terms       list
-- KEYS[6]  audit       list; absent if there is no audit
-- ARGV[1]  id          the candidate
-- ARGV[2]  nonce       of the attempt
-- ARGV[3]  ttl         in milliseconds
-- ARGV[4]  floor       the highest token that the candidate knows of, in decimal
-- ARGV[5]  channel     for hints
-- ARGV[6]  request     number, for the audit
-- ARGV[7]  protect     1: nobody is granted a lease that may still be believed in
-- ARGV[8]  priority    of the candidate, for those who look
--
-- Returns {1, token, waiters} if the lease is the caller's, else
-- {0, token, id, remaining ms, waiters, remark}, token '0' for a value that no
-- elector wrote and where nobody holds the lease. The remark is 1 if the lease
-- had no time to live; and if nobody holds it, 2: the server has lost its data
-- or was not the one that granted last, 3: the lease is gone before its time,
-- 4: it is handed over to somebody else.
--
-- Tokens are strings throughout: numbers are exact to 2^53 only here.
local lease, counter, guard, candidates, terms, list = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local id, nonce, ttl, floor, channel, request = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local micros, now = clock()
local listening = waiters(channel)

local function less(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end

local function refuse(token, holder, remaining, remark)
  audit(list, 'acquire', nonce, request, token, 0)
  heard(candidates, id, now, ttl, ARGV[8])
  forget(candidates, now, ttl, listening)
  return {0, token, holder, remaining, listening, remark}
end

local function occupied(value, token, holder)
  local remaining, repaired = redis.call('PTTL', lease), 0
  if remaining < 0 then
    -- Nobody would ever get it: give it the time that a lease has.
    redis.call('PEXPIRE', lease, ttl)
    remaining, repaired = tonumber(ttl), 1
  end
  return refuse(token or '0', holder or value, remaining, repaired)
end

-- For how long nobody may be granted the lease though its key is gone, and
-- why; and if for no time, what the guard says besides. A server that does not remember itself as the last one to grant may
-- have forgotten a lease that was granted just before: none of those lasts
-- longer than from now on. One that does remember knows when the lease ends.
local function withheld(run)
  local g = redis.call('HMGET', guard, 'run', 'until', 'longest', 'to', 'reserved', 'seed')
  local longest = math.max(tonumber(g[3]) or 0, tonumber(ttl))
  if ARGV[7] == '1' and g[1] ~= run then
    redis.call('HSET', guard, 'run', run, 'until', now + longest, 'longest', longest, 'value', '', 'seed', 1)
    return longest, 2
  end
  local rest = (tonumber(g[2]) or 0) - now
  if ARGV[7] == '1' and rest > 0 then
    if rest > longest then -- the server's clock went back
      rest = longest
      redis.call('HSET', guard, 'until', now + rest)
    end
    return rest, 3
  end
  rest = math.min((tonumber(g[5]) or 0) - now, longest)
  if g[4] and g[4] ~= id and rest > 0 then return rest, 4 end
  return 0, 0, g[6] == '1', g[4] or g[6]
end

-- The next token. Everything that can fail comes before the first write.
local function count(seed)
  local last = redis.call('GET', counter)
  if last and last ~= '0' and not string.match(last, '^[1-9]%d*$') then
    return nil, redis.error_reply('COUNTER the key ' .. counter .. ' holds no decimal number')
  end
  if ARGV[7] == '1' and (not last or seed) then
    if less(last or '0', micros) then last = micros end
    redis.call('SET', counter, last)
  end
  if less(last or '0', floor) then redis.call('SET', counter, floor) end
  redis.call('INCR', counter)
  return redis.call('GET', counter)
end

local value = redis.call('GET', lease)
if value then
  local token, held, holder = parse(value)
  if held ~= nonce or holder ~= id then return occupied(value, token, holder) end
  redis.call('PEXPIREAT', lease, now + ttl)
  redis.call('HSET', guard, 'until', now + ttl)
  audit(list, 'acquire', nonce, request, token, 1)
  return {1, token, listening}
end

local run = server()
local rest, remark, seed, noted = withheld(run)
if rest > 0 then return refuse('0', '', rest, remark) end
local token, failure = count(seed)
if failure then return failure end
value = 'r1 ' .. token .. ' ' .. nonce .. ' ' .. id
redis.call('SET', lease, value, 'PX', ttl)
hold(lease, guard, value, run, now + ttl, ttl)
if noted then redis.call('HDEL', guard, 'seed', 'to', 'reserved') end
heard(candidates, id, now, ttl, ARGV[8])
remember(terms, 'b ' .. token .. ' ' .. now .. ' ' .. id)
audit(list, 'acquire', nonce, request, token, 1)
announce(channel, 'granted ' .. token .. ' ' .. ttl .. ' ' .. listening)
return {1, token, listening}

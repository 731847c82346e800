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
-- ARGV[7]  protect     1: nobody is granted a lease that may still be believed in;
--                      2: also because of replicas that were another server's; 0: no
-- ARGV[8]  priority    of the candidate, for those who look
--
-- Returns {1, token, waiters} if the lease is the caller's, else
-- {0, token, id, remaining ms, waiters, remark}, token '0' for a value that no
-- elector wrote and where nobody holds the lease. The remark is 1 if the lease
-- had no time to live, or more than any lease has; and if nobody holds it, 2: the
-- server has lost its data or was not the one that granted last, 3: the lease is
-- gone before its time, 4: it is handed over to somebody else.
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
  forget(candidates, now, listening)
  return {0, token, holder, remaining, listening, remark}
end

local function occupied(value, token, holder)
  local remaining, repaired = redis.call('PTTL', lease), 0
  local usual = tonumber(ttl)
  if remaining > usual then -- as long as the leases of another candidate, or as none
    usual = math.max(usual, tonumber(redis.call('HGET', guard, 'longest')) or token and remaining or 0)
  end
  if remaining < 0 or remaining > usual then
    -- Nobody would get it for long, or ever: give it the time that a lease has.
    redis.call('PEXPIRE', lease, usual)
    remaining, repaired = usual, 1
  end
  return refuse(token or '0', holder or value, remaining, repaired)
end

-- For how long nobody may be granted the lease though its key is gone, or the
-- caller's own of before, and why; and if for no time, what the guard says
-- besides. A server that does not
-- remember this history as the last one that granted may have forgotten a lease
-- that was granted just before: none of those lasts longer than from now on. One
-- that does remember knows when the lease ends.
local function withheld(known, own)
  local g = redis.call('HMGET', guard, 'history', 'until', 'unsure', 'longest', 'to', 'reserved', 'seed')
  local longest = math.max(tonumber(g[4]) or 0, tonumber(ttl))
  if ARGV[7] ~= '0' then
    if g[1] ~= known then
      redis.call('HSET', guard, 'history', known, 'until', 0, 'unsure', now + longest, 'longest', longest, 'value', '', 'seed', 1)
      return longest, 2
    end
    local unsure, ends = tonumber(g[3]) or 0, not own and tonumber(g[2]) or 0
    local rest = math.max(unsure, ends) - now
    if rest > longest then -- the server's clock went back
      rest = longest
      redis.call('HSET', guard, 'until', math.min(ends, now + rest), 'unsure', math.min(unsure, now + rest))
    end
    if rest > 0 then return rest, unsure > ends and 2 or 3 end
  end
  if own then return 0 end
  local rest = math.min((tonumber(g[6]) or 0) - now, longest)
  if g[5] and g[5] ~= id and rest > 0 then return rest, 4 end
  return 0, 0, g[7] == '1', g[3] or g[5] or g[7]
end

-- The next token. Everything that can fail comes before the first write.
local function count(seed)
  local last = redis.call('GET', counter)
  if last and last ~= '0' and not string.match(last, '^[1-9]%d*$') then
    return nil, redis.error_reply('COUNTER the key ' .. counter .. ' holds no decimal number')
  end
  if ARGV[7] ~= '0' and (not last or seed) then
    if less(last or '0', micros) then last = micros end
    redis.call('SET', counter, last)
  end
  if less(last or '0', floor) then redis.call('SET', counter, floor) end
  redis.call('INCR', counter)
  return redis.call('GET', counter)
end

local value, own = redis.call('GET', lease), nil
if value then
  local token, held, holder = parse(value)
  if held ~= nonce or holder ~= id then return occupied(value, token, holder) end
  own = token
end
local known = history(ARGV[7])
if not known then return replica() end
local rest, remark, seed, noted = withheld(known, own)
if rest > 0 then return refuse('0', '', rest, remark) end
if own then
  redis.call('PEXPIREAT', lease, now + ttl)
  redis.call('HSET', guard, 'until', now + ttl)
  audit(list, 'acquire', nonce, request, own, 1)
  return {1, own, listening}
end
local token, failure = count(seed)
if failure then return failure end
value = 'r1 ' .. token .. ' ' .. nonce .. ' ' .. id
redis.call('SET', lease, value, 'PX', ttl)
hold(lease, guard, value, known, now + ttl, ttl)
if noted then redis.call('HDEL', guard, 'unsure', 'seed', 'to', 'reserved') end
heard(candidates, id, now, ttl, ARGV[8])
remember(terms, 'b ' .. token .. ' ' .. now .. ' ' .. id)
audit(list, 'acquire', nonce, request, token, 1)
announce(channel, 'granted ' .. token .. ' ' .. ttl .. ' ' .. listening)
return {1, token, listening}

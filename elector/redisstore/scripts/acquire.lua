-- acquire takes the lease if nobody holds it. It is idempotent by nonce.
--
-- KEYS[1]  lease    string with a time to live
-- KEYS[2]  counter  string, the last token handed out, in decimal
-- KEYS[3]  audit    list; absent if there is no audit
-- ARGV[1]  id       the candidate
-- ARGV[2]  nonce    of the attempt
-- ARGV[3]  ttl      in milliseconds
-- ARGV[4]  floor    the highest token that the candidate knows of, in decimal
-- ARGV[5]  channel  for hints
-- ARGV[6]  request  number, for the audit
-- ARGV[7]  seed     1: a missing counter starts at the server's time
--
-- Returns {1, token, waiters} if the lease is the caller's, else
-- {0, token, id, remaining ms, waiters, repaired}, token '0' for a value that
-- no elector wrote; repaired is 1 if the lease had no time to live.
--
-- Tokens are strings throughout: numbers are exact to 2^53 only here.
local lease, counter, list = KEYS[1], KEYS[2], KEYS[3]
local id, nonce, ttl, floor, channel, request = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]

local function less(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end

local function refuse(value, token, holder)
  local remaining, repaired = redis.call('PTTL', lease), 0
  if remaining < 0 then
    -- Nobody would ever get it: give it the time that a lease has.
    redis.call('PEXPIRE', lease, ttl)
    remaining, repaired = tonumber(ttl), 1
  end
  audit(list, 'acquire', nonce, request, token or '0', 0)
  return {0, token or '0', holder or value, remaining, waiters(channel), repaired}
end

-- The next token. Everything that can fail comes before the first write.
local function grant()
  local last = redis.call('GET', counter)
  if last and last ~= '0' and not string.match(last, '^[1-9]%d*$') then
    return nil, redis.error_reply('COUNTER the key ' .. counter .. ' holds no decimal number')
  end
  if not last and ARGV[7] == '1' then
    local time = redis.call('TIME')
    last = time[1] .. string.rep('0', 6 - #time[2]) .. time[2]
    redis.call('SET', counter, last)
  end
  if less(last or '0', floor) then redis.call('SET', counter, floor) end
  redis.call('INCR', counter)
  return redis.call('GET', counter)
end

local value = redis.call('GET', lease)
if value then
  local token, held, holder = parse(value)
  if held ~= nonce or holder ~= id then return refuse(value, token, holder) end
  redis.call('PEXPIRE', lease, ttl)
  audit(list, 'acquire', nonce, request, token, 1)
  return {1, token, waiters(channel)}
end

local token, failure = grant()
if failure then return failure end
redis.call('SET', lease, 'r1 ' .. token .. ' ' .. nonce .. ' ' .. id, 'PX', ttl)
audit(list, 'acquire', nonce, request, token, 1)
local listening = waiters(channel)
announce(channel, 'granted ' .. token .. ' ' .. ttl .. ' ' .. listening)
return {1, token, listening}

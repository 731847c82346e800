-- acquire takes the lease if nobody holds it. It is idempotent by nonce.
--
-- KEYS[1]  lease       string with a time to live
-- KEYS[2]  counter     string, the last token handed out, in decimal
-- KEYS[3]  guard       hash, see guard.lua
-- KEYS[4]  candidates  hash, see roster.lua
-- KEYS[5]  terms       list
-- KEYS[6]  witness     hash, see witnessed; the guard again where there is none
-- KEYS[7]  audit       list; absent if there is no audit
-- ARGV[1]  id          the candidate
-- ARGV[2]  nonce       of the attempt
-- ARGV[3]  ttl         in milliseconds
-- ARGV[4]  floor       the highest token that the candidate knows of, in decimal
-- ARGV[5]  channel     for hints
-- ARGV[6]  request     number, for the audit
-- ARGV[7]  protect     1: nobody is granted a lease that may still be believed in;
--                      2: also because of replicas that were another server's; 0: no
-- ARGV[8]  priority    of the candidate, for those who look
-- ARGV[9]  longest     how long, in milliseconds, any lease of this election may
--                      last, as the candidate counts on
-- ARGV[10] beacon      a channel on which the candidate's connection listens as long as
--                      it hears of hints: a refusal leaves a bid. Empty: it does not
-- ARGV[11] version     of the value that it publishes; absent, as is the next one, if
--                      it publishes nothing
-- ARGV[12] value
--
-- Returns {1, token, waiters} if the lease is the caller's, else
-- {0, token, id, remaining ms, waiters, remark, longest ms}, token '0' for a value
-- that no elector wrote and where nobody holds the lease, longest as the caller
-- should count on from now on, 0 if nothing is known. The remark is 1 if the lease
-- had no time to live, or more than any lease has; and if nobody holds it, 2: the
-- server has lost its data or was not the one that granted last, 3: the lease is
-- gone before its time, 4: it is handed over to somebody else, 5: others count on
-- shorter leases than the caller's, or have longer ones than the caller counts on,
-- 6: the server has not known the election for long enough to be sure that it has
-- forgotten none.
--
-- Tokens are strings throughout: numbers are exact to 2^53 only here.
local lease, counter, guard, candidates, terms = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local witness, list = KEYS[6], KEYS[7]
local id, nonce, ttl, channel, request = ARGV[1], ARGV[2], ARGV[3], ARGV[5], ARGV[6]
local protect, longest = ARGV[7], tonumber(ARGV[9])
local now, time = clock()
local stamp = whole(now)

local function refuse(token, holder, remaining, remark, most)
  if list then audit(list, 'acquire', nonce, request, token, 0) end
  local listening = waiters(channel)
  local stands = remark == 0 and token ~= '0' and ARGV[10] ~= '' and ARGV[10] or '-'
  try('HSET', candidates, id, noted(stamp, ttl, ARGV[8], ARGV[9]),
    '', table.concat({stamp, ttl, ARGV[9], ARGV[4], request, stands, nonce, id}, ' '))
  forget(candidates, now, listening)
  if not most then
    local counted = try('HGET', guard, 'longest')
    most = type(counted) == 'string' and tonumber(counted) or 0
  end
  return {0, token, holder, remaining, listening, remark, most}
end

local function occupied(value, token, holder)
  local remaining, repaired = call('PTTL', lease), 0
  if remaining < 0 or remaining > longest then
    local most = tonumber(call('HGET', guard, 'longest'))
    if not most and token then -- the holder has said how long
      local note = try('HGET', candidates, holder)
      local _, _, _, counted = line(type(note) == 'string' and note or '')
      most = counted -- nobody knows: none lasts longer than the caller counts on
    end
    most = math.max(longest, most or 0)
    if remaining < 0 or remaining > most then
      -- Nobody would get it for long, or ever: give it the time that a lease has.
      call('PEXPIRE', lease, most)
      remaining, repaired = most, 1
    end
  end
  return refuse(token or '0', holder or value, remaining, repaired)
end

-- witnessed is the moment from which on the server has provably forgotten nothing
-- of what it knows by this history, and whether it did forget this election since.
-- The witness is a key of the server's own that all elections share: what makes the
-- server forget makes it forget the witness, too, or changes what that says of the
-- server. It names the elections that were granted, so that one whose keys alone
-- were deleted is not taken for a new one. Where names are made for each job it would
-- grow for ever: one that names very many is made anew, as if the server were.
local function witnessed(known)
  if witness == guard or known == '' then return now end
  local w = call('HMGET', witness, 'history', 'since', 'evicted', 'of ' .. guard)
  local stats = try('INFO', 'stats')
  local evicted = type(stats) == 'string' and string.match(stats, 'evicted_keys:(%d+)') or 'unknown'
  local since = tonumber(w[2])
  local size = try('HLEN', witness) -- no right that elections need
  local many = type(size) == 'number' and size > 100000
  if many then call('DEL', witness) end
  if many or w[1] ~= known or w[3] ~= evicted or evicted == 'unknown' or not since or since > now then
    call('HSET', witness, 'history', known, 'since', now, 'evicted', evicted)
    since = now
  end
  return since, w[4]
end

-- disagreed is for how long somebody may live who counts on a shorter lease than the
-- caller's, or has a longer one than the caller counts on, and that one's. Who
-- counts on what the last leader did need not ask: whoever does not is refused as
-- long as that one may live, or is told, and counts on it from then on.
local function disagreed(counted, lasted, ended, value)
  local rest, most = 0, counted
  local function clash(theirs, lasts, at)
    if at + 2 * theirs <= now then return end
    if theirs < tonumber(ttl) then rest = math.max(rest, at + 2 * theirs - now) end
    if lasts > longest then rest, most = math.max(rest, 1), math.max(most, lasts) end
  end
  local _, _, holder = parse(value or '')
  if holder ~= id then clash(counted, lasted or counted, ended) end
  local all = try('HGETALL', candidates)
  if type(all) ~= 'table' or all.err then return rest, most end
  for i = 1, #all, 2 do
    local at, lasts, _, theirs = line(all[i + 1])
    if at and all[i] ~= id then clash(theirs, lasts, math.min(at, now)) end
  end
  return rest, most
end

-- For how long nobody may be granted the lease though its key is gone, or the
-- caller's own of before, and why; and if for no time, what the guard says
-- besides. A server that does not remember this history as the last one that
-- granted may have forgotten a lease that was granted just before: none of those
-- lasts longer than from the moment on that the witness names. One that does
-- remember knows when the lease ends.
local function withheld(known, own)
  local g = call('HMGET', guard, 'history', 'until', 'unsure', 'longest', 'to', 'reserved', 'seed')
  local counted = tonumber(g[4])
  local last = counted and counted ~= longest and call('HMGET', guard, 'lasts', 'value')
  local most, besides = math.max(counted or 0, longest), g[3] or g[5] or g[7]
  local unsure, ends, seed = tonumber(g[3]) or 0, not own and tonumber(g[2]) or 0, g[7] == '1'
  if protect ~= '0' then
    if g[1] ~= known then
      local since, forgot = witnessed(known)
      if own or forgot and not g[1] then since = now end
      unsure, ends, seed, besides = since + most, 0, true, true
      call('HSET', guard, 'history', known, 'until', 0, 'unsure', unsure, 'longest', most, 'value', '', 'seed', 1)
      if witness ~= guard and known ~= '' then call('HSET', witness, 'of ' .. guard, 1) end
      if unsure > now then return unsure - now, (g[1] or forgot) and 2 or 6 end
    end
    local rest = math.max(unsure, ends) - now
    if rest > most then -- the server's clock went back
      rest = most
      call('HSET', guard, 'until', math.min(ends, now + rest), 'unsure', math.min(unsure, now + rest))
    end
    if rest > 0 then return rest, unsure > ends and 2 or 3 end
  end
  if own then return 0 end
  local reserved = (tonumber(g[6]) or 0) - now
  local rest = math.min(reserved, most)
  if g[5] and g[5] ~= id and rest > 0 then
    if reserved > most then call('HSET', guard, 'reserved', now + most) end -- as above
    return rest, 4
  end
  if last and protect ~= '0' then
    rest, most = disagreed(counted, tonumber(last[1]), tonumber(g[2]) or 0, last[2])
    if rest > 0 then return rest, 5, most end
  end
  return 0, 0, seed, besides
end

local value, own = call('GET', lease), nil
if value then
  local token, held, holder = parse(value)
  if held ~= nonce or holder ~= id then return occupied(value, token, holder) end
  own = token
end
local known = history(protect)
if not known then return replica() end
local rest, remark, seed, besides = withheld(known, own)
if rest > 0 then return refuse('0', '', rest, remark, remark == 5 and seed) end
local ends = whole(now + ttl)
if own then
  call('PEXPIREAT', lease, ends)
  call('HSET', guard, 'until', ends)
  if list then audit(list, 'acquire', nonce, request, own, 1) end
  return {1, own, waiters(channel)}
end
forget(candidates, now, 0) -- also where nobody is ever refused
local token, failure = count(counter, protect, time, ARGV[4], seed)
if failure then return failure end
value = 'r1 ' .. token .. ' ' .. nonce .. ' ' .. id
call('SET', lease, value)
call('PEXPIREAT', lease, ends) -- PXAT is of Redis 6.2
hold(guard, value, known, ends, ttl, ARGV[9], ARGV[11] and publication(token, nonce, ARGV[11], ARGV[12]))
if besides then call('HDEL', guard, 'unsure', 'seed', 'to', 'reserved') end
try('HSET', candidates, id, noted(stamp, ttl, ARGV[8], ARGV[9]))
remember(terms, 'b ' .. token .. ' ' .. stamp .. ' ' .. id)
if list then audit(list, 'acquire', nonce, request, token, 1) end
return {1, token, announce(channel, 'granted ' .. token .. ' ' .. ttl)}

-- acquire takes the lease if nobody holds it. It is idempotent by nonce.
--
-- KEYS[1]  lease       string with a time to live
-- KEYS[2]  counter     string, the last token handed out, in decimal
-- KEYS[3]  guard       hash, see guard.lua
-- KEYS[4]  candidates  hash, see roster.lua
-- KEYS[5]  terms       list
-- KEYS[6]  witness     hash, see witness.lua
-- KEYS[7]  audit       list; absent if there is no audit
-- ARGV[1]  id          the candidate
-- ARGV[2]  nonce       of the attempt
-- ARGV[3]  ttl         in milliseconds
-- ARGV[4]  floor       the highest token that the candidate knows of, in decimal
-- ARGV[5]  channel     for hints
-- ARGV[6]  request     number, for the audit
-- ARGV[7]  protect     1: nobody is granted a lease while one that was forgotten may
--                      be believed in; 2: the same on one of several servers, which
--                      must grant the same token; 0: no
-- ARGV[8]  priority    of the candidate, for those who look
-- ARGV[9]  longest     how long, in milliseconds, any lease of this election may
--                      last, as the candidate counts on
-- ARGV[10] configured  what the candidate would rather count on, since it has only
--                      heard of longer leases; empty: it would not
-- ARGV[11] beacon      a channel on which the candidate's connection listens as long as
--                      it hears of hints: a refusal leaves a bid. Empty: it does not
-- ARGV[12] version     of the value that it publishes; absent, as is the next one, if
--                      it publishes nothing
-- ARGV[13] value
--
-- Returns {1, token, waiters, replicas, longest ms} if the lease is the caller's, replicas
-- as the witness has them, else
-- {0, token, id, remaining ms, waiters, remark, longest ms}, token '0' for a value
-- that no elector wrote and where nobody holds the lease. Longest is what the caller
-- counts on from now on, 0 if that is what it did. The remark is 1 if the lease
-- had no time to live, or more than any lease has; and if nobody holds it, 2: the
-- server was started, promoted or flushed less than a lease ago, so it may have
-- forgotten one, 3: the lease is gone before its time, 4: it is handed over to somebody
-- else, 5: others count on shorter leases than the caller's, or have longer ones than
-- the caller counts on, 6: a candidate knows a larger token than the server, or may not
-- ask for its history, as others may.
--
-- Tokens are strings throughout: numbers are exact to 2^53 only here.
local lease, counter, guard, candidates, terms = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local witness, list = KEYS[6], KEYS[7]
local id, nonce, ttl, channel, request = ARGV[1], ARGV[2], ARGV[3], ARGV[5], ARGV[6]
local protect, longest = ARGV[7], tonumber(ARGV[9])
local now, time = clock()
local stamp = whole(now)

-- alive calls f for every other candidate that may live: with how long any lease may
-- last, as that one counts on, how long its own lasts, and for how long it may live. It
-- returns what the caller is known to count on at least, as long as that holds others
-- back, and with which request it has said so.
local function alive(f, counted, lasted, ended, value)
  local known, said = nil, -1
  local _, _, holder = parse(value or '')
  if counted and holder ~= id and ended + 2 * counted > now then f(counted, lasted or counted, ended + 2 * counted - now) end
  local all = try('HGETALL', candidates)
  if type(all) ~= 'table' or all.err then return known, said end
  for i = 1, #all, 2 do
    local at, lasts, _, theirs, number = line(all[i + 1])
    local left = at and math.min(at, now) + 2 * theirs - now
    if all[i] == id then
      said = number or -1
      if at and left > 0 then known = theirs end
    elseif at and left > 0 then
      f(theirs, lasts, left)
    end
  end
  return known, said
end

-- relearn is what the caller counts on from now on, and what others are to know of that.
-- It counts on less than before if the server has forgotten nothing for as long as it
-- counted on, nobody has a longer lease who may live, and nobody was granted one since
-- the caller asked last, because others have known since then what it wants to count on.
-- A request that was overtaken by a later one, or is repeated, changes neither.
local function relearn(counted)
  local most = tonumber(ARGV[10]) or longest
  local g = call('HMGET', guard, 'lasts', 'value', 'unsure')
  local ended = tonumber(call('HGET', witness, 'of ' .. guard)) or 0
  local before, said = alive(function(_, lasts) most = math.max(most, lasts) end, counted, tonumber(g[1]), ended, g[2])
  if said >= tonumber(request) then
    return most > longest and most or 0, whole(math.min(before or most, longest)), whole(said)
  end
  local known = protect ~= '0' and history()
  if known then
    local since, _, _, blind = remembers(witness, guard, known, now)
    known = not blind and math.max(since + math.max(counted, longest), tonumber(g[3]) or 0) <= now
  end
  if not known then return math.max(most, counted, longest), ARGV[9] end
  if most < counted then call('HSET', guard, 'longest', whole(most)) end
  if most >= longest then return most, ARGV[9] end
  if before and before <= most then return most, whole(most) end
  return longest, whole(most)
end

local function refuse(token, holder, remaining, remark, most)
  if list then audit(list, 'acquire', nonce, request, token, 0) end
  local listening, note, number = waiters(channel), ARGV[9], request
  if not most then
    local counted = try('HGET', guard, 'longest')
    counted, most = type(counted) == 'string' and tonumber(counted), 0
    if counted and (counted > longest or ARGV[10] ~= '') then most, note, number = relearn(counted) end
  end
  local stands = remark == 0 and token ~= '0' and ARGV[11] ~= '' and ARGV[11] or '-'
  local kept = try('HSET', candidates, id, noted(stamp, ttl, ARGV[8], note, number or request),
    '', table.concat({stamp, ttl, ARGV[9], ARGV[4], request, stands, nonce, id}, ' '))
  if replicated(kept) then return replica() end -- the primary does not hear of this candidate
  forget(candidates, now, listening)
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

-- prune forgets ends of leases that are over: names may be made for each job. It looks
-- in one millisecond of some, at some of very many. The rights for that are not among
-- those that elections need.
local function prune(now)
  if now % 16 ~= 0 then return end
  local names = try('HLEN', witness)
  if type(names) ~= 'number' or names < 1000 then return end
  local page = try('HSCAN', witness, call('HGET', witness, 'cursor') or '0', 'COUNT', 256)
  if type(page) ~= 'table' or page.err then return end
  call('HSET', witness, 'cursor', page[1])
  for i = 1, #page[2], 2 do
    local name, ends = page[2][i], tonumber(page[2][i + 1])
    if string.sub(name, 1, 3) == 'of ' and ends and ends < now then try('HDEL', witness, name) end
  end
end

-- disagreed is for how long somebody may live who counts on a shorter lease than the
-- caller's, or has a longer one than the caller counts on. After that comes that longer
-- one, and what everybody counts on at least. Who counts on what everybody does need not
-- ask: any other one is refused as long as that one may live, or is told, and counts
-- on it from then on.
local function disagreed(counted, lasted, ended, value)
  local rest, most, least = 0, longest, longest
  alive(function(theirs, lasts, left)
    least = math.min(least, theirs)
    if theirs < tonumber(ttl) then rest = math.max(rest, left) end
    if lasts > most then rest, most = math.max(rest, 1), lasts end
  end, counted, lasted, ended, value)
  return rest, most, least
end

-- unknown is for how long a lease may last that the server does not know, or whose key
-- is gone, and why.
-- After that come the replicas as the witness has them, and whether the last token was
-- counted before this server's memory begins.
local function unknown(known, own, last, most, unsure, lasts)
  local since, ends, replicas, blind = remembers(witness, guard, known, now)
  local doubt, why = unsure or 0, 2
  local older = ends - lasts < since
  if protect == '1' and last and less(last, ARGV[4]) and decimal(ARGV[4]) then
    call('SET', counter, ARGV[4]) -- it is noticed once
    if doubt <= now then doubt = now + most end
  elseif blind and not unsure and not own then -- a lease that is there is like one to renew
    doubt = now + most
  end
  if own then ends = 0 end
  local rest = math.max(since + most, doubt, ends) - now
  if rest > most then -- the server's clock went back
    rest = most
    if ends > now + most then call('HSET', witness, 'of ' .. guard, whole(now + most)) end
    doubt = math.min(doubt, now + most)
  end
  if doubt > now and doubt ~= unsure then call('HSET', guard, 'unsure', whole(doubt)) end
  if doubt > since + most then why = 6 end
  if ends >= since + most and ends >= doubt then why = 3 end
  return rest, why, replicas, older
end

-- withheld is for how long nobody may be granted the lease though its key is gone, or
-- though the caller holds it, and why. If that is no time, the results after that are two
-- of unknown's, whether the guard has more than it needs, and what everybody counts on at
-- least, if that is not what the caller does.
local function withheld(known, own, last)
  local g = call('HMGET', guard, 'longest', 'unsure', 'to', 'reserved', 'lasts', 'value')
  local counted = tonumber(g[1])
  local most, besides = math.max(counted or 0, longest), g[2] or g[3]
  local replicas, older = '', false
  if protect ~= '0' then
    local rest, why
    rest, why, replicas, older = unknown(known, own, last, most, tonumber(g[2]), tonumber(g[5]) or 0)
    if rest > 0 then return rest, why end
  end
  if own then return 0, 0, replicas end
  local reserved = (tonumber(g[4]) or 0) - now
  local rest = math.min(reserved, most)
  if g[3] and g[3] ~= id and rest > 0 then
    if reserved > most then call('HSET', guard, 'reserved', now + most) end -- as above
    return rest, 4
  end
  if counted ~= longest and protect ~= '0' then
    local ended = tonumber(call('HGET', witness, 'of ' .. guard)) or 0
    local least
    rest, most, least = disagreed(counted, tonumber(g[5]), ended, g[6])
    if rest > 0 then return rest, 5, most end
    return 0, 0, replicas, older, besides, whole(least)
  end
  return 0, 0, replicas, older, besides
end

local value, own = call('GET', lease), nil
if value then
  local token, held, holder = parse(value)
  if held ~= nonce or holder ~= id then return occupied(value, token, holder) end
  own = token
end
local known = history()
if not known then return replica() end
local last = call('GET', counter)
local rest, remark, more, older, besides, least = withheld(known, own, last)
if rest > 0 then return refuse('0', '', rest, remark, remark == 5 and more) end
local most, note, number = 0, ARGV[9], request
if ARGV[10] ~= '' and not own then most, note, number = relearn(longest) end -- it may never be refused
local ends = whole(now + ttl)
call('HSET', witness, 'of ' .. guard, ends)
if own then
  call('PEXPIREAT', lease, ends)
  if list then audit(list, 'acquire', nonce, request, own, 1) end
  return {1, own, waiters(channel), more, 0}
end
forget(candidates, now, 0) -- also where nobody is ever refused
local token, failure = count(counter, last, protect, time, ARGV[4], older)
if failure then return failure end
value = 'r1 ' .. token .. ' ' .. nonce .. ' ' .. id
call('SET', lease, value)
call('PEXPIREAT', lease, ends) -- PXAT is of Redis 6.2
hold(guard, value, ttl, least or ARGV[9], ARGV[12] and publication(token, nonce, ARGV[12], ARGV[13]))
if besides then call('HDEL', guard, 'unsure', 'to', 'reserved') end
prune(now)
try('HSET', candidates, id, noted(stamp, ttl, ARGV[8], note, number or request))
remember(terms, 'b ' .. token .. ' ' .. stamp .. ' ' .. id)
if list then audit(list, 'acquire', nonce, request, token, 1) end
return {1, token, announce(channel, 'granted ' .. token .. ' ' .. ttl), more, most}

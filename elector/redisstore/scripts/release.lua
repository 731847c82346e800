-- release ends the lease, if it is still exactly this one. If who was refused last
-- made a bid and hears of it, the lease is passed on; else those who wait are woken:
-- the one that was refused last asks at once, and the others a little later. If the
-- lease's key is gone already (deleted, evicted), its holder says here that nobody
-- believes in it any more: it need not be waited for.
--
-- KEYS[1]  lease       string with a time to live
-- KEYS[2]  guard       hash, see guard.lua
-- KEYS[3]  candidates  hash, see roster.lua
-- KEYS[4]  terms       list
-- KEYS[5]  counter     string, the last token handed out, in decimal
-- KEYS[6]  witness     hash, see witness.lua
-- KEYS[7]  audit       list; absent if there is no audit
-- ARGV[1]  value       the lease's whole value: id, nonce and token
-- ARGV[2]  channel     for hints
-- ARGV[3]  nonce       for the audit, as are the next two
-- ARGV[4]  request
-- ARGV[5]  token
-- ARGV[6]  to          the candidate that the lease is handed over to; may be empty
-- ARGV[7]  reserved    for how many milliseconds nobody else gets it
-- ARGV[8]  id          the candidate, for those who look, as are the next ones
-- ARGV[9]  ttl         that it asks for, in milliseconds; 0: nobody need know it
-- ARGV[10] priority
-- ARGV[11] longest     how long any lease may last, as it counts on at least
-- ARGV[12] protect     as acquire has it
--
-- Returns 1 if the lease was ended, else 0.
local lease, guard, candidates, terms = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local witness, list = KEYS[6], KEYS[7]
local channel, token, to, reserved, id, protect = ARGV[2], ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[12]
local now, time = clock()
local stamp = whole(now)
local value = call('GET', lease)
local held = value == ARGV[1]
local refused = try('HGET', candidates, '')
local g = call('HMGET', guard, 'value', 'unsure', 'longest', 'reserved')
local over = g[1] == ARGV[1] and (held or not value and (tonumber(call('HGET', witness, 'of ' .. guard)) or 0) > now)

-- alive notes that the candidate lives.
local function alive()
  if ARGV[9] ~= '0' then try('HSET', candidates, id, noted(stamp, ARGV[9], ARGV[10], ARGV[11], ARGV[4])) end
end

-- forgot reports whether the server may have forgotten a lease that is believed in.
local function forgot(most)
  if protect == '0' then return false end
  local w = call('HMGET', witness, 'history', 'since')
  local since = tonumber(w[2])
  return not since or since + most > now or (tonumber(g[2]) or 0) > now or history() ~= w[1]
end

-- passed grants the lease to who was refused last, if that is as sure as a grant that
-- it asks for now: the server has forgotten nothing that is still believed in, all
-- count on the same leases, and the candidate can hear of it. It must have asked
-- lately: its belief counts from then. It is told first, since nobody has the lease if
-- that reaches nobody. Nothing after that can fail.
local function passed(at, ttl, most, floor, request, beacon, nonce, next)
  local age = now - at
  if beacon == '-' or not held or not over or to ~= '' and to ~= next then return end
  if age < 0 or 4 * age > 3 * ttl or most ~= g[3] or (tonumber(g[4]) or 0) > now then return end
  if forgot(tonumber(most)) or waiters(beacon) == 0 then return end
  local new = count(KEYS[5], call('GET', KEYS[5]), protect, time, floor)
  if not new then return end -- who asks is told why
  if announce(channel, table.concat({'granted', new, ttl, request, nonce, next}, ' ')) == 0 then return end
  local theirs, ends = 'r1 ' .. new .. ' ' .. nonce .. ' ' .. next, whole(now + ttl)
  call('SET', lease, theirs)
  call('PEXPIREAT', lease, ends) -- PXAT is of Redis 6.2
  call('HSET', witness, 'of ' .. guard, ends)
  hold(guard, theirs, ttl, most)
  if g[2] or g[4] then call('HDEL', guard, 'unsure', 'to', 'reserved') end
  try('HDEL', candidates, '')
  if list then
    audit(list, 'release', ARGV[3], ARGV[4], token, 1)
    audit(list, 'acquire', nonce, request, new, 1)
  end
  remember(terms, 'e ' .. token .. ' ' .. stamp, 'b ' .. new .. ' ' .. stamp .. ' ' .. next)
  alive()
  return true
end

local next
if (held or over) and type(refused) == 'string' then
  local at, ttl, most, floor, request, beacon, nonce, other = refusedLast(refused)
  if other ~= id then next = other end
  if next and passed(at, ttl, most, floor, request, beacon, nonce, next) then return 1 end
end

local applied = held and 1 or 0
if held then call('DEL', lease) end
if over then call('HSET', witness, 'of ' .. guard, stamp) end
if held and to ~= '' then call('HSET', guard, 'to', to, 'reserved', now + reserved) end
if list then audit(list, 'release', ARGV[3], ARGV[4], token, applied) end
if held then
  remember(terms, 'e ' .. token .. ' ' .. stamp)
  alive()
end
if held or over then
  if to == '' and next then to, reserved = next, 0 end
  local text = 'released ' .. token
  if to ~= '' then text = text .. ' ' .. reserved .. ' ' .. to end
  announce(channel, text)
end
return applied

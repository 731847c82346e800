-- renew makes the lease last again, if it is still exactly this one. It never
-- creates a key: a lease that is gone may be another's by the next command.
--
-- KEYS[1]  lease     string with a time to live
-- KEYS[2]  guard     hash, see guard.lua
-- KEYS[3]  audit     list; absent if there is no audit
-- ARGV[1]  value     the lease's whole value: id, nonce and token
-- ARGV[2]  ttl       in milliseconds
-- ARGV[3]  nonce     for the audit, as are the next two
-- ARGV[4]  request   by which renewals differ. It is the last one unless something of
--                    what follows is needed: each argument costs time
-- ARGV[5]  token
-- ARGV[6]  protect   as acquire has it; empty: whether this is the server that
--                    granted need not be looked at, since nothing has happened to
--                    the connections to it. If it is not, the next grant waits
-- ARGV[7]  longest   as acquire has it
-- ARGV[8]  version   of the value that the leader publishes; absent, as are the next
--                    ones, if there is none, or if the server has it
-- ARGV[9]  value
-- ARGV[10] channel   for hints
--
-- Returns 1 if the lease was extended, else 0.
local lease, guard, list, protect = KEYS[1], KEYS[2], KEYS[3], ARGV[6] or ''
local held = call('GET', lease) == ARGV[1]
if held then
  local now = clock()
  local known
  if protect ~= '' then
    known = history(protect)
    if not known then return replica() end
  end
  local ends = whole(now + ARGV[2])
  call('PEXPIREAT', lease, ends)
  local note
  if ARGV[8] then
    -- Renewals may arrive in another order than they were sent in.
    local noted = published(call('HGET', guard, 'published'), ARGV[5], ARGV[3])
    if not noted or noted < tonumber(ARGV[8]) then note = publication(ARGV[5], ARGV[3], ARGV[8], ARGV[9]) end
  end
  if not known or call('HGET', guard, 'history') == known then
    if note then
      call('HSET', guard, 'until', ends, 'published', note)
    else
      call('HSET', guard, 'until', ends)
    end
  else
    -- A server that took over from another one may answer for the lease from now
    -- on. But the renewal may be an old one, and the server may have forgotten who
    -- was granted a lease since: when that one is over, the next may be granted.
    local longest = math.max(tonumber(call('HGET', guard, 'longest')) or 0, tonumber(ARGV[7]))
    hold(guard, ARGV[1], known, ends, ARGV[2], longest, note)
    call('HSET', guard, 'unsure', now + longest, 'seed', 1)
  end
  if note then announce(ARGV[10], 'published ' .. ARGV[5]) end
end
local applied = held and 1 or 0
if list then audit(list, 'renew', ARGV[3], ARGV[4], ARGV[5], applied) end
return applied

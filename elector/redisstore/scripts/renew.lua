-- renew makes the lease last again, if it is still exactly this one. It never
-- creates a key: a lease that is gone may be another's by the next command.
--
-- KEYS[1]  lease     string with a time to live
-- KEYS[2]  guard     hash, see guard.lua
-- KEYS[3]  witness   hash, see witness.lua
-- KEYS[4]  audit     list; absent if there is no audit
-- ARGV[1]  value     the lease's whole value: id, nonce and token
-- ARGV[2]  ttl       in milliseconds
-- ARGV[3]  nonce     for the audit, as are the next two
-- ARGV[4]  request   by which renewals differ. It is the last one unless something of
--                    what follows is needed: each argument costs time
-- ARGV[5]  token
-- ARGV[6]  look      1: whether this server is the one that granted is looked at; empty:
--                    it need not be, since nothing has happened to the connections to
--                    it. If it is another one, the next grant waits
-- ARGV[7]  version   of the value that the leader publishes; absent, as are the next
--                    ones, if there is none, or if the server has it
-- ARGV[8]  value
-- ARGV[9]  channel   for hints
--
-- Returns 1 if the lease was extended, else 0.
local lease, guard, witness, list = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local held = call('GET', lease) == ARGV[1]
if held then
  local now, known = clock(), nil
  if ARGV[6] == '1' then
    known = history()
    if not known then return replica() end
  end
  local ends = whole(now + ARGV[2])
  call('PEXPIREAT', lease, ends)
  local lost = call('HSET', witness, 'of ' .. guard, ends) == 1
  if known or lost then
    known = known or history() or ''
    remembers(witness, guard, known, now)
    if call('HGET', guard, 'value') ~= ARGV[1] then
      hold(guard, ARGV[1], ARGV[2], ARGV[2])
    end
  end
  if ARGV[7] then
    -- Renewals may arrive in another order than they were sent in.
    local noted = published(call('HGET', guard, 'published'), ARGV[5], ARGV[3])
    if not noted or noted < tonumber(ARGV[7]) then
      call('HSET', guard, 'published', publication(ARGV[5], ARGV[3], ARGV[7], ARGV[8]))
      announce(ARGV[9], 'published ' .. ARGV[5])
    end
  end
end
local applied = held and 1 or 0
if list then audit(list, 'renew', ARGV[3], ARGV[4], ARGV[5], applied) end
return applied

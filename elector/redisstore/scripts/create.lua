-- create makes the server know of an election, so that a lease later, or at once if it
-- has forgotten nothing for as long, the first leader need not be waited for.
--
-- KEYS[1]  lease    string with a time to live
-- KEYS[2]  counter  string, the last token handed out, in decimal
-- KEYS[3]  guard    hash, see guard.lua
-- KEYS[4]  witness  hash, see witness.lua
--
-- Returns 1 if it was not known, else 0.
local known = history()
if not known then return replica() end
local there = call('EXISTS', KEYS[1], KEYS[2], KEYS[3]) -- the guard may be the witness
local _, ends = remembers(KEYS[4], KEYS[3], known, clock())
if there > 0 or ends > 0 then return 0 end
call('SET', KEYS[2], '0')
return 1

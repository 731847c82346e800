-- create notes that an election begins here and now, unless anything is known
-- of it.
--
-- KEYS[1]  lease    string with a time to live
-- KEYS[2]  counter  string, the last token handed out, in decimal
-- KEYS[3]  guard    hash, see guard.lua
-- KEYS[4]  witness  hash, see acquire.lua; the guard again where there is none
-- ARGV[1]  protect  as acquire has it
--
-- Returns 1 if it was not known, else 0.
if call('EXISTS', KEYS[1], KEYS[2], KEYS[3]) > 0 then return 0 end
local known = history(ARGV[1])
if not known then return replica() end
call('SET', KEYS[2], '0')
call('HSET', KEYS[3], 'history', known, 'until', 0)
if KEYS[4] ~= KEYS[3] then call('HSET', KEYS[4], 'of ' .. KEYS[3], 1) end
return 1

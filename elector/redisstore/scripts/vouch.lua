-- vouch makes the server take the caller's word that it has forgotten no lease.
--
-- KEYS[1]  lease    string with a time to live
-- KEYS[2]  counter  string, the last token handed out, in decimal
-- KEYS[3]  witness  hash, see witness.lua
-- ARGV[1]  replicas the numbers of their connections, separated by commas
--
-- Returns 1; 0, and does nothing, if somebody holds the lease.
if call('EXISTS', KEYS[1]) > 0 then return 0 end
local known = history()
if not known then return replica() end
call('SET', KEYS[2], '0', 'NX')
call('HSET', KEYS[3], 'history', known, 'since', 0, 'replicas', ARGV[1])
return 1

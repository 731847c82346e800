-- withdraw takes a bid back, and tells whether the lease was passed on to it before.
--
-- KEYS[1]  lease       string with a time to live
-- KEYS[2]  candidates  hash, see roster.lua
-- ARGV[1]  id          the candidate
-- ARGV[2]  nonce       of the attempt
--
-- Returns the lease's token if the attempt holds it, else '0'.
local token, nonce, holder = parse(call('GET', KEYS[1]) or '')
if nonce == ARGV[2] and holder == ARGV[1] then return token end
local last = try('HGET', KEYS[2], '')
local _, _, _, _, _, _, bid, id = refusedLast(type(last) == 'string' and last or '')
if bid == ARGV[2] and id == ARGV[1] then try('HDEL', KEYS[2], '') end
return '0'

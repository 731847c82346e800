-- knows tells whether the server still knows what it knew when a script wrote the
-- guard: whether no replica has come since, above all. It changes nothing.
--
-- KEYS[1]  guard    hash, see guard.lua
-- ARGV[1]  protect  as acquire has it
--
-- Returns 1 if it does, else 0.
return call('HGET', KEYS[1], 'history') == history(ARGV[1]) and 1 or 0

-- terms lists the past terms, the latest first. It changes nothing.
--
-- KEYS[1]  terms  list
if not history() then return replica() end
return call('LRANGE', KEYS[1], 0, -1)

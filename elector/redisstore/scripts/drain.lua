-- drain removes the lines that the caller has, and returns the oldest of those that
-- it has not. It removes them only if they are still the first ones of the list: it
-- may have been emptied, replaced by an older one, or drained by somebody else.
--
-- KEYS[1]  audit    list
-- ARGV[1]  how many lines the caller has; 0: none
-- ARGV[2]  the last of them
-- ARGV[3]  how many lines to return at the most
local had = tonumber(ARGV[1])
if had > 0 then
  if call('LRANGE', KEYS[1], had - 1, had - 1)[1] ~= ARGV[2] then
    return {}
  end
  call('LTRIM', KEYS[1], had, -1)
end
return call('LRANGE', KEYS[1], 0, tonumber(ARGV[3]) - 1)

-- published is the version and the value of what is noted, if it is of that lease.
local function published(note, token, nonce)
  if type(note) ~= 'string' then return end
  local t, n, version, value = string.match(note, '^(%d+) (%S+) (%d+) (.*)$')
  if t == token and n == nonce then return tonumber(version), value end
end


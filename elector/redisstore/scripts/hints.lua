-- announce publishes a hint, and tells how many connections got it. Hints may be
-- lost, so a server that forbids it is no error: 0.
local function announce(channel, text)
  local reply = try('PUBLISH', channel, text)
  return type(reply) == 'number' and reply or 0
end


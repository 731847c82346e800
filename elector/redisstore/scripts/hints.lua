-- How scripts tell of what they did.

-- waiters tells how many connections listen on the channel. It is a hint, so a
-- server that forbids or lacks the command is no error: 0.
local function waiters(channel)
  local reply = try('PUBSUB', 'NUMSUB', channel)
  if type(reply) ~= 'table' or reply.err then return 0 end
  return tonumber(reply[2]) or 0
end

-- announce publishes a hint, and tells how many connections got it. Hints may be
-- lost, so a server that forbids it is no error: 0.
local function announce(channel, text)
  local reply = try('PUBLISH', channel, text)
  return type(reply) == 'number' and reply or 0
end


-- What several scripts use; it is put in front of each of them.

-- audit appends one line to the list, if there is a list: the server's time in
-- microseconds, call, nonce, request number, token, applied (0 or 1). Redis
-- runs one script at a time, so the list is in the order of execution.
local function audit(list, call, nonce, request, token, applied)
  if not list then return end
  local time = redis.call('TIME')
  local micros = time[1] .. string.rep('0', 6 - #time[2]) .. time[2]
  redis.call('RPUSH', list, table.concat({micros, call, nonce, request, token, applied}, ' '))
end

-- waiters tells how many connections listen on the channel. It is a hint, so a
-- server that forbids or lacks the command is no error: 0.
local function waiters(channel)
  local reply = redis.pcall('PUBSUB', 'NUMSUB', channel)
  if type(reply) ~= 'table' or reply.err then return 0 end
  return tonumber(reply[2]) or 0
end

-- announce publishes a hint. Hints may be lost, so a server that forbids it is
-- no error.
local function announce(channel, text)
  redis.pcall('PUBLISH', channel, text)
end

-- parse takes a lease's value apart: "r1 TOKEN NONCE ID". The id stands last
-- and may contain anything; nonces have no spaces. Nothing for a value that
-- somebody else wrote.
local function parse(value)
  return string.match(value, '^r1 (%d+) (%S+) (.*)$')
end


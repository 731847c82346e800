-- history names what this server remembers: its replication history. A restart and a
-- promotion begin a new one, also on a server that had been demoted. It is false on a
-- replica, whose writes are not kept, and empty where the user may not ask. The name
-- must not depend on who asks, or two candidates would call one server's past by two
-- names. It must not contain what an operator can set back, such as a counter.
local function history()
  local info = try('INFO', 'replication')
  if type(info) ~= 'string' then return '' end
  if string.find(info, 'role:slave', 1, true) or string.find(info, 'role:replica', 1, true) then return false end
  local _, at = string.find(info, 'master_replid:', 1, true) -- far from the begin
  return at and string.match(info, '^%w+', at + 1) or ''
end

-- replicated reports whether a command was refused because this server is a replica.
local function replicated(reply)
  return type(reply) == 'table' and reply.err and string.find(reply.err, 'READONLY', 1, true)
end

-- replica is the answer to a request that only a primary can serve.
local function replica()
  return redis.error_reply('READONLY this server is a replica')
end


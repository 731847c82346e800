-- The candidates are a hash of those who were heard of: for each id, when that was,
-- the ttl that it asks for, its priority, how long leases may last as it counts on at
-- least, and the number of its request. The field without a name holds the attempt that was
-- refused last, "AT TTL LONGEST FLOOR REQUEST BEACON NONCE ID". It is a bid if the
-- beacon is not "-": as long as somebody listens there, the candidate hears of it if
-- the lease is passed on to this attempt.
--
-- noted is what the candidates say of one.
local function noted(now, ttl, priority, longest, request)
  return table.concat({now, ttl, priority, longest, request}, ' ')
end

-- remember notes the begin or the end of a term, or one's end and the next one's begin.
-- Nothing depends on it.
local function remember(terms, ...)
  local kept = try('LPUSH', terms, ...)
  if type(kept) == 'number' and kept >= 512 then try('LTRIM', terms, 0, 255) end
end

-- waiters tells how many connections listen on the channel. It is a hint, so a
-- server that forbids or lacks the command is no error: 0.
local function waiters(channel)
  local reply = try('PUBSUB', 'NUMSUB', channel)
  if type(reply) ~= 'table' or reply.err then return 0 end
  return tonumber(reply[2]) or 0
end


-- The guard is a hash that outlives the lease. It has what the lease's key cannot tell
-- once it is gone:
--
--   value     of the lease
--   lasts     how long the lease lasts from a grant or renewal on, in milliseconds
--   longest   how long any lease of the election may last, as every candidate that may
--             live counts on at least
--   unsure    until when a lease may last that this server does not know, by what a
--             candidate knows. No release ends it: who gives a lease back does not
--             know of the other one
--   to        the candidate that the lease was handed over to
--   reserved  until when nobody else gets it
--   published what the leader publishes, see publication
--
-- hold notes who holds the lease. It may note a publication as well.
local function hold(guard, value, ttl, longest, note)
  if note then
    call('HSET', guard, 'longest', longest, 'lasts', ttl, 'value', value, 'published', note)
  else
    call('HSET', guard, 'longest', longest, 'lasts', ttl, 'value', value)
  end
end

-- publication is what the guard notes of a value that a leader publishes: "TOKEN NONCE
-- VERSION VALUE". Token and nonce are the lease's: when that is over, it is nobody's.
local function publication(token, nonce, version, value)
  return table.concat({token, nonce, version, value}, ' ')
end


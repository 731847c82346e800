-- The guard is a hash that outlives the lease and tells what the lease's key
-- cannot once it is gone:
--
--   history   in which the lease was granted or renewed last
--   until     the end of the lease, in milliseconds of the server's time: when it was
--             released, once it was
--   unsure    until when a lease of another history may last. No release ends it:
--             whoever gives a lease back does not know of the other
--   longest   how long, in milliseconds, any lease of the election may last, as
--             whoever was granted it last counts on
--   lasts     how long the last one lasts from a grant or renewal on
--   value     of the lease
--   seed      1: the count of tokens may be an old one
--   to        the candidate that the lease was handed over to
--   reserved  until when nobody else gets it
--   published what the leader publishes, see publication
--
-- hold notes that the lease lasts until then. Key and guard name the same moment:
-- a candidate that comes when the key is over must not be told to wait by the
-- guard. It may note a publication as well.
local function hold(guard, value, known, ends, ttl, longest, note)
  if note then
    call('HSET', guard, 'history', known, 'until', ends, 'longest', longest, 'lasts', ttl, 'value', value, 'published', note)
  else
    call('HSET', guard, 'history', known, 'until', ends, 'longest', longest, 'lasts', ttl, 'value', value)
  end
end

-- replica is the answer to who asks a replica for what only a primary can give.
local function replica()
  return redis.error_reply('READONLY this server is a replica')
end

-- publication is what the guard notes of a value that a leader publishes: "TOKEN NONCE
-- VERSION VALUE". Token and nonce are the lease's: when that is over, it is nobody's.
local function publication(token, nonce, version, value)
  return table.concat({token, nonce, version, value}, ' ')
end


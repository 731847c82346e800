-- evict takes the lease away from its holder: no renewal, and no repetition of the attempt,
-- knows its value any more. The lease lasts as long as it would have, so nobody is granted
-- it while its holder may believe in it. Escaped nonces have no '%' alone.
--
-- KEYS[1]  lease  string with a time to live
-- ARGV[1]  token  of the term that is to end; '0': of whichever there is
--
-- Returns {token, id, remaining ms} of the lease that is there, as leader does; {} if there
-- is none. It was evicted if an elector wrote it and its token is the one that was asked for.
if not history() then return replica() end
local value = call('GET', KEYS[1])
if not value then return {} end
local token, _, id = parse(value)
local left = call('PTTL', KEYS[1])
if token and (ARGV[1] == '0' or ARGV[1] == token) then
  local evicted = 'r1 ' .. token .. ' % ' .. id
  if left < 0 then -- the next candidate gives it one
    call('SET', KEYS[1], evicted)
  else
    call('SET', KEYS[1], evicted, 'PX', math.max(left, 1))
  end
end
return {token or '0', id or value, left}

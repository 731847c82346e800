-- The witness is a hash that all elections of a prefix share; in a cluster, whose
-- scripts get keys of one slot only, the guard takes its place.
--
--   history   that the server had when it was asked last
--   since     the moment from which on the server has forgotten nothing, in
--             milliseconds of its time: it has had this history and this hash since
--   replicas  the connections of those that had confirmed no other server's lease when
--             somebody vouched for them; empty: of none
--   of GUARD  when the lease of that election ends: as it was granted or renewed last,
--             or when it was given back
--
-- A free lease is granted only if `since` is a lease ago and `of GUARD` is over. That is
-- safe, because every grant and every renewal writes `of GUARD`. Let a lease that is
-- believed in have been granted or renewed last at the moment r. If the server has had
-- this hash since r, the hash has the lease's end. If not, `since` is later than r, and
-- a lease after it that belief is over.
--
-- remembers returns `since`, which begins now if the server has another history or has
-- lost the hash; the lease's end, 0 if there is none; and the replicas. A user who may
-- not ask for the history relies on what others found, but for the replicas: another
-- server has other connections with the same numbers. The last result says that nobody
-- verified it.
local function remembers(witness, guard, known, now)
  local w = call('HMGET', witness, 'history', 'since', 'of ' .. guard, 'replicas')
  local since, blind = tonumber(w[2]), known == '' and w[1] and w[1] ~= ''
  if blind then known = w[1] end
  if w[1] ~= known or not since or since > now then
    since = now
    w[4] = ''
    call('HSET', witness, 'history', known, 'since', whole(now), 'replicas', '')
  end
  return since, tonumber(w[3]) or 0, not blind and w[4] or '', blind
end


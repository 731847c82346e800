-- history names what this server knows: its replication history. A restart and a
-- promotion begin a new one, also that of a server which had been demoted. Where
-- replicas have to confirm (protect is 2), how many have come so far is part of
-- the name: this server does not know what one that comes has confirmed to another.
-- Nothing on a replica, which may take writes but does not keep them, and empty
-- where the user may not ask.
local function history(protect)
  local info = try('INFO', 'replication')
  if type(info) ~= 'string' then return '' end
  if string.find(info, 'role:slave', 1, true) then return end
  local _, at = string.find(info, 'master_replid:', 1, true) -- it is far from the begin
  local name = at and string.match(info, '^%w+', at + 1) or ''
  if protect ~= '2' then return name end
  local stats = try('INFO', 'stats')
  if type(stats) ~= 'string' then return name end
  local full, partial = string.match(stats, 'sync_full:(%d+)'), string.match(stats, 'sync_partial_ok:(%d+)')
  return name .. ' ' .. (full or '') .. ' ' .. (partial or '')
end


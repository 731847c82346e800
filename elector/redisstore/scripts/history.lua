-- history names what this server knows: its replication history. A restart and a
-- promotion begin a new one, also that of a server which had been demoted. Where
-- replicas have to confirm (protect is 2), the replicas that follow are part of
-- the name: this server does not know what a new one has confirmed to another.
-- Nothing on a replica, which may take writes but does not keep them, and empty
-- where the user may not ask.
local function history(protect)
  local info = redis.pcall('INFO', 'replication')
  if type(info) ~= 'string' then return '' end
  if string.find(info, 'role:slave', 1, true) then return end
  local name = string.match(info, 'master_replid:(%w+)') or ''
  if protect ~= '2' then return name end
  local follow = {}
  for replica in string.gmatch(info, 'slave%d+:ip=(%S+,port=%d+),state=online') do follow[#follow + 1] = replica end
  table.sort(follow)
  return name .. ' ' .. table.concat(follow, ' ')
end

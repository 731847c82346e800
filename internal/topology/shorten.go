package topology

// Shorten is a script that lets a server's time pass for the elections on it without a wait,
// in which a slow machine would let leases end: every key ends ARGV[1] milliseconds earlier,
// and so does what the store's scripts wrote of them.
const Shorten = `
for _, key in ipairs(redis.call('KEYS', '*')) do
  local left = redis.call('PTTL', key)
  if left >= 0 then redis.call('PEXPIRE', key, left - tonumber(ARGV[1])) end
  local fields = redis.call('TYPE', key).ok == 'hash' and redis.call('HGETALL', key) or {}
  for i = 1, #fields, 2 do
    local name = fields[i]
    if string.find(name, '^of ') or name == 'unsure' or name == 'reserved' or name == 'since' and fields[i + 1] ~= '0' then
      redis.call('HINCRBY', key, name, -tonumber(ARGV[1]))
    end
  end
end
return 1`

-- What all scripts use; it is put in front of each of them. A call of the server is
-- dear, and so are a closure and a number that becomes text: scripts get no more
-- functions than they use, and the moments below are text where they are only passed on.
local call, try = redis.call, redis.pcall

-- clock is the server's time in milliseconds, and as it gave it.
local function clock()
  local time = call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000), time
end

-- precise is the time in microseconds, as text.
local function precise(time)
  return time[1] .. string.sub('00000' .. time[2], -6)
end

-- whole is a number as text. Redis would make it each time that it gets the number, and
-- takes it for a fraction. Not '%d', which cuts it to 31 bits where a long has 32.
local function whole(n)
  return string.format('%.0f', n)
end

-- audit appends one line to the list: the server's time in microseconds, call, nonce,
-- request number, token, applied (0 or 1). Redis runs one script at a time, so the
-- list is in the order of execution.
local function audit(list, name, nonce, request, token, applied)
  call('RPUSH', list, table.concat({precise(call('TIME')), name, nonce, request, token, applied}, ' '))
end


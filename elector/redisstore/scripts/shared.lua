-- What all scripts use; it is put in front of each of them. A call of the server is
-- dear, and so are a closure and a number that becomes text: scripts get no more
-- functions than they use, and the moments below are text where they are only passed on.
local call, try = redis.call, redis.pcall

-- clock is the server's time in milliseconds, as a number and as text, and in
-- microseconds, as text.
local function clock()
  local time = call('TIME')
  local micros = time[1] .. string.sub('00000' .. time[2], -6)
  local now = string.sub(micros, 1, -4)
  return now + 0, now, micros
end

-- whole is a number as text. Redis would make it each time that it gets the number, and
-- takes it for a fraction.
local function whole(n)
  return string.format('%d', n)
end

-- audit appends one line to the list: the server's time in microseconds, call, nonce,
-- request number, token, applied (0 or 1). Redis runs one script at a time, so the
-- list is in the order of execution.
local function audit(list, name, nonce, request, token, applied)
  local _, _, micros = clock()
  call('RPUSH', list, table.concat({micros, name, nonce, request, token, applied}, ' '))
end

-- parse takes a lease's value apart: "r1 TOKEN NONCE ID". The id stands last
-- and may contain anything; nonces have no spaces. Nothing for a value that
-- somebody else wrote.
local function parse(value)
  return string.match(value, '^r1 (%d+) (%S+) (.*)$')
end


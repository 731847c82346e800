-- What the scripts that grant a lease use: how tokens are counted. They are text
-- throughout, since numbers are exact to 2^53 only here.

local largest = '9223372036854775807'

local function less(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end

local function decimal(n)
  return n == '0' or string.match(n, '^[1-9]%d*$')
end

-- after is the decimal number that follows n.
local function after(n)
  if less(n, '9007199254740991') then return whole(n + 1) end
  local head, nines = string.match(n, '^(%d-)(9*)$')
  return string.sub(head, 1, -2) .. (tonumber(string.sub(head, -1)) or 0) + 1 .. string.rep('0', #nines)
end

-- count returns the next token after the last one. Everything that can fail comes before the write. Protected,
-- tokens are the server's time in microseconds, or follow the last one where that is
-- larger: so a count that the server has lost, or that is an older one, brings no token
-- a second time. Several servers must grant the same token, so each follows its last one
-- unless that may be an older one.
local function count(counter, last, protect, time, floor, older)
  if last and not decimal(last) then
    return nil, redis.error_reply('COUNTER the key ' .. counter .. ' holds no decimal number')
  end
  older, last = older or not last, last or '0'
  if protect == '1' or protect == '2' and older then
    local micros = precise(time)
    if less(last, micros) then last = micros end
  end
  if less(last, floor) then last = decimal(floor) and floor or largest end
  if not less(last, largest) then
    return nil, redis.error_reply('COUNTER the key ' .. counter .. ' cannot be counted on: it would overflow')
  end
  local token = after(last)
  call('SET', counter, token)
  return token
end


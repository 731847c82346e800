-- guarded executes a write if its token is not smaller than the largest one
-- that the fence has seen. The write is the body of the function write; it is
-- put in place of the line that says so, and sees KEYS and ARGV of its own.
--
-- KEYS[1]   fence   string, the largest token seen, in decimal
-- KEYS[2]…  keys    of the write
-- ARGV[1]   token   in decimal
-- ARGV[2]…  args    of the write
--
-- Returns {0, highest} if the token is stale, else {1, what write returned}.
--
-- Tokens are strings throughout: numbers are exact to 2^53 only here.
local function write(KEYS, ARGV)
  --[[write]]
end

local function less(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end

local function tail(list)
  local rest = {}
  for i = 2, #list do rest[i - 1] = list[i] end
  return rest
end

local fence, token = KEYS[1], ARGV[1]
local highest = redis.call('GET', fence)
if highest and not string.match(highest, '^[1-9]%d*$') then
  return redis.error_reply('FENCE the key ' .. fence .. ' holds no token')
end
if highest and less(token, highest) then return {0, highest} end
if highest ~= token then redis.call('SET', fence, token) end
local result = write(tail(KEYS), tail(ARGV))
if type(result) == 'table' and result.err then return result end
return {1, result}

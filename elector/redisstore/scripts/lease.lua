-- parse takes a lease's value apart: "r1 TOKEN NONCE ID". The id stands last
-- and may contain anything; nonces have no spaces. Nothing for a value that
-- somebody else wrote.
local function parse(value)
  return string.match(value, '^r1 (%d+) (%S+) (.*)$')
end


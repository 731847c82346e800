-- refusedLast takes the text of the attempt that was refused last apart; nothing if it
-- is none.
local function refusedLast(text)
  return string.match(text, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%S+) (%S+) (.*)$')
end


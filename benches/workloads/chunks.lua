-- Loads a file of many functions: in chunks, since one chunk may not have so
-- many constants.
local chunk = {}
for line in io.lines(arg[1]) do
  chunk[#chunk + 1] = line
  if #chunk == 1000 then
    assert(loadstring(table.concat(chunk, "\n")))()
    chunk = {}
  end
end
assert(loadstring(table.concat(chunk, "\n")))()

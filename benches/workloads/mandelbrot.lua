local function rounds(cr, ci)
  local zr, zi, n, k = 0, 0, 0, 1
  while true do
    local t = zr*zr - zi*zi + cr
    zi = 2*zr*zi + ci
    zr = t
    n = n + 1
    if not (k < 255 and zr*zr + zi*zi < 4) then break end
    k = k + 1
  end
  return n
end
local size, sum = 1000, 0
for y = 1, size do
  for x = 1, size do sum = sum + rounds(x * 3 / size - 2, y * 2 / size - 1) end
end
print(string.format("%.17g", sum))

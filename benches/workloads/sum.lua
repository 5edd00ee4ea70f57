local s = 0
for i = 1, 500000000 do s = s + 1 / (i * i) end
print(string.format("%.17g", s))

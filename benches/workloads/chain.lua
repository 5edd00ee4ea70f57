local function f1(x) return x + 1 end
local function f2(x) return f1(x) + 1 end
local function f3(x) return f2(x) + 1 end
local function f4(x) return f3(x) + 1 end
local function f5(x) return f4(x) + 1 end
local function f6(x) return f5(x) + 1 end
local function f7(x) return f6(x) + 1 end
local function f8(x) return f7(x) + 1 end
local function f9(x) return f8(x) + 1 end
local function f10(x) return f9(x) + 1 end
local s = 0
for i = 1, 100000000 do s = s + f10(i) end
print(string.format("%.17g", s))

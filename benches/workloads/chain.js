function f1(x) { return x + 1 }
function f2(x) { return f1(x) + 1 }
function f3(x) { return f2(x) + 1 }
function f4(x) { return f3(x) + 1 }
function f5(x) { return f4(x) + 1 }
function f6(x) { return f5(x) + 1 }
function f7(x) { return f6(x) + 1 }
function f8(x) { return f7(x) + 1 }
function f9(x) { return f8(x) + 1 }
function f10(x) { return f9(x) + 1 }
function chain(n) {
  let s = 0
  for (let i = 1; i <= n; i++) s = s + f10(i)
  return s
}
console.log(chain(100000000))

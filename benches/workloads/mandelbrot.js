function rounds(cr, ci) {
  let zr = 0, zi = 0, n = 0, k = 1, more
  do {
    const t = zr*zr - zi*zi + cr
    zi = 2*zr*zi + ci
    zr = t
    n = n + 1
    more = k < 255 && zr*zr + zi*zi < 4
    k = k + 1
  } while (more)
  return n
}
let sum = 0
const size = 1000
for (let y = 1; y <= size; y++)
  for (let x = 1; x <= size; x++) sum = sum + rounds(x * 3 / size - 2, y * 2 / size - 1)
console.log(sum)

#include <math.h>
#include <stdio.h>
static int prime(double n) {
  if (n < 2)
    return 0;
  if (fmod(n, 2) == 0)
    return n == 2;
  double d = 3;
  while (d * d <= n && fmod(n, d) != 0)
    d += 2;
  return d * d > n;
}
double pairs(double n) {
  double count = 0, i = 1;
  int more;
  do {
    if (prime(i) && prime(i + 2))
      count += 1;
    more = i < n;
    i += 1;
  } while (more);
  return count;
}
int main(int argc, char **argv) { printf("%.17g\n", pairs(499999.0 + argc)); }

#include <math.h>
#include <stdio.h>
static double prime(double n) {
  double p = 1, d = 2;
  int more;
  do {
    if (d < n && fmod(n, d) == 0)
      p = 0;
    more = p != 0 && d * d <= n;
    d += 1;
  } while (more);
  return p;
}
double primes(double m) {
  double c = 0, n = 2;
  int more;
  do {
    c += prime(n);
    more = n < m;
    n += 1;
  } while (more);
  return c;
}
int main(int argc, char **argv) { printf("%.17g\n", primes(299999.0 + argc)); }

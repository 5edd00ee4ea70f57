#include <math.h>
#include <stdio.h>
static double gcd(double a, double b) { return b == 0 ? a : gcd(b, fmod(a, b)); }
double total(double n) {
  double s = 0, i = 1;
  int more;
  do {
    s += gcd(i, 5040);
    more = i < n;
    i += 1;
  } while (more);
  return s;
}
int main(int argc, char **argv) { printf("%.17g\n", total(4999999.0 + argc)); }

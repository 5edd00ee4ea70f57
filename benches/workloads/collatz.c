#include <math.h>
#include <stdio.h>
static double collatz(double n) {
  double c = 0, i = n, step;
  int more;
  do {
    c += 1;
    step = fmod(i, 2) < 1 ? -(i / 2) : 2 * i + 1;
    more = i > 1;
    i += step;
  } while (more);
  return c;
}
double all(double m) {
  double s = 0, k = 1;
  int more;
  do {
    s += collatz(k);
    more = k < m;
    k += 1;
  } while (more);
  return s;
}
int main(int argc, char **argv) { printf("%.17g\n", all(299999.0 + argc)); }

#include <math.h>
#include <stdio.h>
static double f(double x) { return 1 / (1 + x * x) + sqrt(x); }
double simpson(double a, double b, double n) {
  double h = (b - a) / n, s = f(a) + f(b), i = 1;
  int more;
  do {
    s = s + (fmod(i, 2) == 1 ? 4 : 2) * f(a + i * h);
    more = i < n - 1;
    i += 1;
  } while (more);
  return s * h / 3;
}
int main(int argc, char **argv) { printf("%.17g\n", simpson(0, 10, 19999999.0 + argc)); }

#include <stdio.h>
double fibi(double x) {
  double a = 1, b = 1, c, i = 3;
  int more;
  do {
    c = a + b;
    a = b;
    b = c;
    more = i < x;
    i += 1;
  } while (more);
  return b;
}
int main(int argc, char **argv) { printf("%.17g\n", fibi(399999999.0 + argc)); }

#include <stdio.h>
double sum(double n) {
  double s = 0;
  for (double i = 1; i <= n; i++)
    s = s + 1 / (i * i);
  return s;
}
int main(int argc, char **argv) { printf("%.17g\n", sum(499999999.0 + argc)); }

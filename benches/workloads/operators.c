#include <stdio.h>
static double converger(double real, double imag, double iters, double creal, double cimag) {
  if (iters > 255 || real * real + imag * imag > 4)
    return iters;
  return converger(real * real - imag * imag + creal, 2 * real * imag + cimag, iters + 1, creal, cimag);
}
double total(double xmin, double xmax, double xstep, double ymin, double ymax, double ystep) {
  double s = 0, x, y;
  int more_rows, more;
  y = ymin;
  do {
    x = xmin;
    do {
      s += converger(x, y, 0, x, y);
      more = x < xmax;
      x += xstep;
    } while (more);
    more_rows = y < ymax;
    y += ystep;
  } while (more_rows);
  return s;
}
int main(int argc, char **argv) { printf("%.17g\n", total(-2.3, argc, 0.003, -1.3, 1.3, 0.003)); }

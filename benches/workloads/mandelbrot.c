#include <stdio.h>
double rounds(double cr, double ci) {
  double zr = 0, zi = 0, n = 0, k = 1;
  int more;
  do {
    double t = zr * zr - zi * zi + cr;
    zi = 2 * zr * zi + ci;
    zr = t;
    n = n + 1;
    more = k < 255 && zr * zr + zi * zi < 4;
    k = k + 1;
  } while (more);
  return n;
}
int main(int argc, char **argv) {
  double size = 999 + argc, sum = 0;
  for (double y = 1; y <= size; y++)
    for (double x = 1; x <= size; x++)
      sum = sum + rounds(x * 3 / size - 2, y * 2 / size - 1);
  printf("%.17g\n", sum);
}

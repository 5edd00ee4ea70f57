#include <stdio.h>
double tak(double x, double y, double z) {
  return y < x ? tak(tak(x - 1, y, z), tak(y - 1, z, x), tak(z - 1, x, y)) : z;
}
int main(int argc, char **argv) { printf("%.17g\n", tak(29.0 + argc, 20, 10)); }

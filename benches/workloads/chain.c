#include <stdio.h>
double f1(double x) { return x + 1; }
double f2(double x) { return f1(x) + 1; }
double f3(double x) { return f2(x) + 1; }
double f4(double x) { return f3(x) + 1; }
double f5(double x) { return f4(x) + 1; }
double f6(double x) { return f5(x) + 1; }
double f7(double x) { return f6(x) + 1; }
double f8(double x) { return f7(x) + 1; }
double f9(double x) { return f8(x) + 1; }
double f10(double x) { return f9(x) + 1; }
int main(int argc, char **argv) {
  double n = 99999999.0 + argc, s = 0;
  for (double i = 1; i <= n; i++)
    s = s + f10(i);
  printf("%.17g\n", s);
}

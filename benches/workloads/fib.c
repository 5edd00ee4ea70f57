#include <stdio.h>
double fib(double n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(int argc, char **argv) { printf("%.17g\n", fib(39 + argc)); }

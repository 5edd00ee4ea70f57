// The functions of kernels.kal in C: a loop over the rows, and where the compiler does not
// make vectors of it, vectors by hand.

#include <math.h>
#include <stddef.h>

typedef double v8 __attribute__((ext_vector_type(8), aligned(8)));
typedef long m8 __attribute__((ext_vector_type(8)));

#define LOOP1(name, expression)                                                                    \
  void name(const double *restrict x, double *restrict out, size_t n) {                            \
    for (size_t i = 0; i < n; i++) out[i] = expression(x[i]);                                      \
  }
#define LOOP2(name, expression)                                                                    \
  void name(const double *restrict x, const double *restrict y, double *restrict out, size_t n) {  \
    for (size_t i = 0; i < n; i++) out[i] = expression(x[i], y[i]);                                \
  }

static double line1(double a, double x, double b) { return a * x + b; }
void line(const double *restrict a, const double *restrict x, const double *restrict b, double *restrict out,
          size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = line1(a[i], x[i], b[i]);
}

static double polynomial1(double x) {
  return 1 + x * (0.5 + x * (0.25 + x * (0.125 + x * (0.0625 + x * (0.03125 + x * (0.015625 + x * (0.0078125 + x * 0.00390625)))))));
}
LOOP1(polynomial, polynomial1)

static double tax1(double x) {
  return x < 10000    ? 0
         : x < 30000  ? (x - 10000) * 0.14
         : x < 60000  ? 2800 + (x - 30000) * 0.24
         : x < 250000 ? 10000 + (x - 60000) * 0.42
                      : 89800 + (x - 250000) * 0.45;
}
LOOP1(tax, tax1)

static double phi(double x) { return 0.5 * erfc(-x * 0.7071067811865476); }
void option(const double *restrict s, const double *restrict k, const double *restrict t, double r, double v,
            double *restrict out, size_t n) {
  for (size_t i = 0; i < n; i++) {
    double d = (log(s[i] / k[i]) + (r + v * v / 2) * t[i]) / (v * sqrt(t[i]));
    out[i] = s[i] * phi(d) - k[i] * exp(-r * t[i]) * phi(d - v * sqrt(t[i]));
  }
}

void haversine(const double *restrict a, const double *restrict b, const double *restrict c,
               const double *restrict d, double *restrict out, size_t n) {
  for (size_t i = 0; i < n; i++) {
    double u = sin((c[i] - a[i]) / 2), w = sin((d[i] - b[i]) / 2);
    out[i] = 2 * asin(sqrt(u * u + cos(a[i]) * cos(c[i]) * w * w));
  }
}

static double mandelbrot1(double x, double y) {
  double r = 0, i = 0, n = 0;
  while (n < 255 && r * r + i * i < 4) {
    double t = r * r - i * i + x;
    i = 2 * r * i + y;
    r = t;
    n = n + 1;
  }
  return n;
}
LOOP2(mandelbrot, mandelbrot1)

void mandelbrot_by_hand(const double *restrict px, const double *restrict py, double *restrict out, size_t n) {
  for (size_t at = 0; at < n; at += 8) {
    v8 x = *(const v8 *)(px + at), y = *(const v8 *)(py + at), r = {0}, i = {0}, count = {0};
    for (int round = 0; round < 255; round++) {
      v8 rr = r * r, ii = i * i;
      m8 live = rr + ii < 4;
      if (!__builtin_reduce_or(live)) break;
      v8 t = rr - ii + x;
      v8 next = 2 * r * i + y;
      i = live ? next : i;
      r = live ? t : r;
      count = live ? count + 1 : count;
    }
    *(v8 *)(out + at) = count;
  }
}

static double kepler1(double m, double e) {
  double x = m, d = 1, n = 0;
  while (fabs(d) > 0.0000000001 && n < 50) {
    d = (x - e * x * (1 - x * x / 6 * (1 - x * x / 20)) - m) / (1 - e * (1 - x * x / 2 * (1 - x * x / 12)));
    x = x - d;
    n = n + 1;
  }
  return x;
}
LOOP2(kepler, kepler1)

static double k0(double x) { return x + 1; }
static double k1(double x) { return k0(x) * 0.5; }
static double k2(double x) { return k1(x) > 1 ? k1(x) - 1 : k0(x); }
static double k3(double x) { return k2(x) + k1(x); }
static double k4(double x) { return k3(x) * 0.25; }
static double k5(double x, double y) { return k4(x) + k4(y); }
static double k6(double x, double y) { return k5(x, y) > x ? k5(x, y) : y; }
static double k7(double x, double y) { return k6(x, y) - k6(y, x); }
static double nested1(double x, double y) { return k7(x, y) * 2 + k7(y, x); }
LOOP2(nested, nested1)

void interest(const double *restrict sum, const double *restrict rate, const double *restrict years,
              double *restrict out, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = sum[i] * pow(1 + rate[i], years[i]);
}

void series(const double *restrict x, double *restrict out, size_t rows) {
  for (size_t row = 0; row < rows; row++) {
    double s = 0, t = 1;
    for (int i = 1; i <= 20; i++) {
      t = t * x[row] / i;
      s = s + t;
    }
    out[row] = s;
  }
}

void root(const double *restrict x, double *restrict out, size_t rows) {
  for (size_t row = 0; row < rows; row++) {
    double y = x[row];
    for (int i = 1; i <= 8; i++)
      y = y - (y * y - x[row]) / (2 * y);
    out[row] = y;
  }
}

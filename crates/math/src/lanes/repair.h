// What a method leaves open.

// Computes the lanes in `bad` by the function of one double.
__attribute__((noinline, cold)) static void
repair(double *values, V x, unsigned bad, double (*scalar)(double)) {
  double lanes[LANES];
  store(lanes, x);
  for (; bad; bad &= bad - 1)
    values[__builtin_ctz(bad)] = scalar(lanes[__builtin_ctz(bad)]);
}

__attribute__((noinline, cold)) static void
repair_binary(double *values, V x, V y, unsigned bad, double (*scalar)(double, double)) {
  double lanes[LANES], second[LANES];
  store(lanes, x);
  store(second, y);
  for (; bad; bad &= bad - 1)
    values[__builtin_ctz(bad)] = scalar(lanes[__builtin_ctz(bad)], second[__builtin_ctz(bad)]);
}

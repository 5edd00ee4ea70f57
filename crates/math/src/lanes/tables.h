// Written by tables.py, checked by tests/mathematics.

// 2^(i/32), and what is missing.
static const double POWERS_HIGH[32] = {
  0x1.0000000000000p+0, 0x1.059b0d3158574p+0, 0x1.0b5586cf9890fp+0, 0x1.11301d0125b51p+0,
  0x1.172b83c7d517bp+0, 0x1.1d4873168b9aap+0, 0x1.2387a6e756238p+0, 0x1.29e9df51fdee1p+0,
  0x1.306fe0a31b715p+0, 0x1.371a7373aa9cbp+0, 0x1.3dea64c123422p+0, 0x1.44e086061892dp+0,
  0x1.4bfdad5362a27p+0, 0x1.5342b569d4f82p+0, 0x1.5ab07dd485429p+0, 0x1.6247eb03a5585p+0,
  0x1.6a09e667f3bcdp+0, 0x1.71f75e8ec5f74p+0, 0x1.7a11473eb0187p+0, 0x1.82589994cce13p+0,
  0x1.8ace5422aa0dbp+0, 0x1.93737b0cdc5e5p+0, 0x1.9c49182a3f090p+0, 0x1.a5503b23e255dp+0,
  0x1.ae89f995ad3adp+0, 0x1.b7f76f2fb5e47p+0, 0x1.c199bdd85529cp+0, 0x1.cb720dcef9069p+0,
  0x1.d5818dcfba487p+0, 0x1.dfc97337b9b5fp+0, 0x1.ea4afa2a490dap+0, 0x1.f50765b6e4540p+0,
};

static const double POWERS_LOW[32] = {
  0x0.0p+0, 0x1.d73e2a475b465p-55, 0x1.8a62e4adc610bp-54, -0x1.6c51039449b3ap-54,
  -0x1.19041b9d78a76p-55, 0x1.e016e00a2643cp-54, 0x1.9b07eb6c70573p-54, 0x1.612e8afad1255p-55,
  0x1.6f46ad23182e4p-55, -0x1.63aeabf42eae2p-54, 0x1.ada0911f09ebcp-55, 0x1.89b7a04ef80d0p-59,
  0x1.d4397afec42e2p-56, -0x1.07abe1db13cadp-55, 0x1.6324c054647adp-54, -0x1.383c17e40b497p-54,
  -0x1.bdd3413b26456p-54, -0x1.16e4786887a99p-55, -0x1.41577ee04992fp-55, -0x1.d4c1dd41532d8p-54,
  0x1.6e9f156864b27p-54, -0x1.75fc781b57ebcp-57, 0x1.c7c46b071f2bep-56, -0x1.d2f6edb8d41e1p-54,
  0x1.7a1cd345dcc81p-54, -0x1.5584f7e54ac3bp-56, 0x1.11065895048ddp-55, 0x1.503cbd1e949dbp-56,
  0x1.2ed02d75b3707p-55, -0x1.1a5cd4f184b5cp-54, -0x1.e9c23179c2893p-54, 0x1.9d3e12dd8a18bp-54,
};

// 32 / log(2).
static const double STEPS = 0x1.71547652b82fep+5;

// log(2) / 32, and what is missing.
static const double STEP_HIGH = 0x1.62e42fefa39efp-6;

static const double STEP_LOW = 0x1.abc9e3b39803fp-61;

// (exp(x) - 1 - x) / x^2 for |x| <= 0.01084, with an error of 2^-58.4.
static const double EXP[6] = {
  0x1.0000000000000p-1, 0x1.5555555555555p-3, 0x1.555555554e8e5p-5, 0x1.111111110e0dfp-7,
  0x1.6c170c8620063p-10, 0x1.a01a4461e8301p-13,
};

// (exp(x) - 1 - x - x^2/2) / x^3 for |x| <= 0.01084, with an error of 2^-56.5.
static const double EXPM1[6] = {
  0x1.5555555555555p-3, 0x1.5555555555555p-5, 0x1.111111110e0dfp-7, 0x1.6c16c16c14588p-10,
  0x1.a01a4461e8301p-13, 0x1.a01a3707f1735p-16,
};

// log(2), and what is missing.
static const double NATURAL_HIGH = 0x1.62e42fefa39efp-1;

static const double NATURAL_LOW = 0x1.abc9e3b39803fp-56;

// Where the first interval begins.
static const double LOG_START = 0x1.5c00000000000p-1;

// The reciprocals of the middles of the intervals; 1 for the one with 1.
static const double RECIPROCALS[32] = {
  0x1.745d1745d1746p+0, 0x1.6c16c16c16c17p+0, 0x1.642c8590b2164p+0, 0x1.5c9882b931057p+0,
  0x1.5555555555555p+0, 0x1.4e5e0a72f0539p+0, 0x1.47ae147ae147bp+0, 0x1.4141414141414p+0,
  0x1.3b13b13b13b14p+0, 0x1.3521cfb2b78c1p+0, 0x1.2f684bda12f68p+0, 0x1.29e4129e4129ep+0,
  0x1.2492492492492p+0, 0x1.1f7047dc11f70p+0, 0x1.1a7b9611a7b96p+0, 0x1.15b1e5f75270dp+0,
  0x1.1111111111111p+0, 0x1.0c9714fbcda3bp+0, 0x1.0842108421084p+0, 0x1.0410410410410p+0,
  0x1.0000000000000p+0, 0x1.f07c1f07c1f08p-1, 0x1.e1e1e1e1e1e1ep-1, 0x1.d41d41d41d41dp-1,
  0x1.c71c71c71c71cp-1, 0x1.bacf914c1bad0p-1, 0x1.af286bca1af28p-1, 0x1.a41a41a41a41ap-1,
  0x1.999999999999ap-1, 0x1.8f9c18f9c18fap-1, 0x1.8618618618618p-1, 0x1.7d05f417d05f4p-1,
};

// The negative logarithms of these, as multiples of 2^-42, and what is missing.
static const double LOGS_HIGH[32] = {
  -0x1.7fafa3bd81000p-2, -0x1.68ac83e9c7000p-2, -0x1.522ae0738a000p-2, -0x1.3c25277333000p-2,
  -0x1.269621134e000p-2, -0x1.1178e8227e000p-2, -0x1.f991c6cb3c000p-3, -0x1.d1037f2656000p-3,
  -0x1.a93ed3c8ae000p-3, -0x1.823c16551a000p-3, -0x1.5bf406b544000p-3, -0x1.365fcb015a000p-3,
  -0x1.1178e8227e000p-3, -0x1.da72763844000p-4, -0x1.9335e5d594000p-4, -0x1.4d3115d208000p-4,
  -0x1.08598b59e4000p-4, -0x1.894aa149f8000p-5, -0x1.0415d89e78000p-5, -0x1.0205658930000p-6,
  0x0.0p+0, 0x1.f829b0e780000p-6, 0x1.f0a30c0118000p-5, 0x1.6f0d28ae58000p-4,
  0x1.e27076e2b0000p-4, 0x1.29552f8200000p-3, 0x1.5ff3070a7a000p-3, 0x1.9525a9cf46000p-3,
  0x1.c8ff7c79aa000p-3, 0x1.fb9186d5e4000p-3, 0x1.1675cababa000p-2, 0x1.2e8e2bae12000p-2,
};

static const double LOGS_LOW[32] = {
  -0x1.471b79bf6d4cbp-44, 0x1.7acd66c548a30p-44, -0x1.eba708164c759p-45, -0x1.83454b606bd5cp-46,
  0x1.1ba1f10522625p-44, -0x1.1e9b8ce2d07f2p-44, 0x1.90b84cd7cc834p-44, 0x1.8527e75b6f6e4p-47,
  0x1.86a4350562169p-45, -0x1.e02db9a631e83p-46, 0x1.28023eb68981cp-46, 0x1.fd720afb9691bp-44,
  -0x1.1e778ce2d07f2p-45, -0x1.a79401fa71733p-46, -0x1.30f5c3abd47dap-45, 0x1.53e2582f4e1efp-48,
  0x1.7e9dd7009902cp-46, -0x1.9a55a8be97661p-44, 0x1.ddfc7f461c516p-44, -0x1.60dd27c8e8417p-44,
  0x0.0p+0, 0x1.97c267c7e09e4p-45, -0x1.d579e83368e91p-45, -0x1.4b2241b664613p-44,
  -0x1.a2c2c2af0003cp-45, -0x1.5bd67f4471dfcp-44, -0x1.8546f183bebf2p-44, -0x1.294937d9f158fp-44,
  -0x1.7814f689f8434p-45, -0x1.d6b2aab993c87p-47, 0x1.83c0e731f55c4p-44, -0x1.6791e99b72bd8p-45,
};

// log(2) as a multiple of 2^-42, and what is missing.
static const double LOG2_HIGH = 0x1.62e42fefa3800p-1;

static const double LOG2_LOW = 0x1.ef35793c76730p-45;

// 1/3, and what is missing.
static const double THIRD_HIGH = 0x1.5555555555555p-2;

static const double THIRD_LOW = 0x1.5555555555555p-56;

// (log(1 + x) - x + x^2/2 - x^3/3) / x^4 for |x| <= 2^-6, with an error of 2^-51.4.
static const double LOG[7] = {
  -0x1.0000000000000p-2, 0x1.999999999adf9p-3, -0x1.5555555556802p-3, 0x1.249248819b8e1p-3,
  -0x1.fffffed53b53ap-4, 0x1.c7452ea70c3bdp-4, -0x1.99bef16f15712p-4,
};

// 1 / log(2), and what is missing.
static const double BINARY_HIGH = 0x1.71547652b82fep+0;

static const double BINARY_LOW = 0x1.777d0ffda0d24p-56;

// 1 / log(10), and what is missing.
static const double DECIMAL_HIGH = 0x1.bcb7b1526e50ep-2;

static const double DECIMAL_LOW = 0x1.95355baaafad3p-57;

// sin(i pi/32), and what is missing.
static const double SINES_HIGH[32] = {
  0x0.0p+0, 0x1.917a6bc29b42cp-4, 0x1.8f8b83c69a60bp-3, 0x1.294062ed59f06p-2,
  0x1.87de2a6aea963p-2, 0x1.e2b5d3806f63bp-2, 0x1.1c73b39ae68c8p-1, 0x1.44cf325091dd6p-1,
  0x1.6a09e667f3bcdp-1, 0x1.8bc806b151741p-1, 0x1.a9b66290ea1a3p-1, 0x1.c38b2f180bdb1p-1,
  0x1.d906bcf328d46p-1, 0x1.e9f4156c62ddap-1, 0x1.f6297cff75cb0p-1, 0x1.fd88da3d12526p-1,
  0x1.0000000000000p+0, 0x1.fd88da3d12526p-1, 0x1.f6297cff75cb0p-1, 0x1.e9f4156c62ddap-1,
  0x1.d906bcf328d46p-1, 0x1.c38b2f180bdb1p-1, 0x1.a9b66290ea1a3p-1, 0x1.8bc806b151741p-1,
  0x1.6a09e667f3bcdp-1, 0x1.44cf325091dd6p-1, 0x1.1c73b39ae68c8p-1, 0x1.e2b5d3806f63bp-2,
  0x1.87de2a6aea963p-2, 0x1.294062ed59f06p-2, 0x1.8f8b83c69a60bp-3, 0x1.917a6bc29b42cp-4,
};

static const double SINES_LOW[32] = {
  0x0.0p+0, -0x1.e2718d26ed688p-60, -0x1.26d19b9ff8d82p-57, -0x1.5d28da2c4612dp-56,
  -0x1.72cedd3d5a610p-57, 0x1.e0d891d3c6841p-58, 0x1.b25dd267f6600p-55, 0x1.8076a2cfdc6b3p-57,
  -0x1.bdd3413b26456p-55, -0x1.2c5e12ed1336dp-55, 0x1.9f630e8b6dac8p-60, -0x1.6e0b1757c8d07p-56,
  0x1.457e610231ac2p-56, 0x1.760b1e2e3f81ep-55, 0x1.562172a361fd3p-56, -0x1.87df6378811c7p-55,
  0x0.0p+0, -0x1.87df6378811c7p-55, 0x1.562172a361fd3p-56, 0x1.760b1e2e3f81ep-55,
  0x1.457e610231ac2p-56, -0x1.6e0b1757c8d07p-56, 0x1.9f630e8b6dac8p-60, -0x1.2c5e12ed1336dp-55,
  -0x1.bdd3413b26456p-55, 0x1.8076a2cfdc6b3p-57, 0x1.b25dd267f6600p-55, 0x1.e0d891d3c6841p-58,
  -0x1.72cedd3d5a610p-57, -0x1.5d28da2c4612dp-56, -0x1.26d19b9ff8d82p-57, -0x1.e2718d26ed688p-60,
};

// cos(i pi/32), and what is missing.
static const double COSINES_HIGH[32] = {
  0x1.0000000000000p+0, 0x1.fd88da3d12526p-1, 0x1.f6297cff75cb0p-1, 0x1.e9f4156c62ddap-1,
  0x1.d906bcf328d46p-1, 0x1.c38b2f180bdb1p-1, 0x1.a9b66290ea1a3p-1, 0x1.8bc806b151741p-1,
  0x1.6a09e667f3bcdp-1, 0x1.44cf325091dd6p-1, 0x1.1c73b39ae68c8p-1, 0x1.e2b5d3806f63bp-2,
  0x1.87de2a6aea963p-2, 0x1.294062ed59f06p-2, 0x1.8f8b83c69a60bp-3, 0x1.917a6bc29b42cp-4,
  0x0.0p+0, -0x1.917a6bc29b42cp-4, -0x1.8f8b83c69a60bp-3, -0x1.294062ed59f06p-2,
  -0x1.87de2a6aea963p-2, -0x1.e2b5d3806f63bp-2, -0x1.1c73b39ae68c8p-1, -0x1.44cf325091dd6p-1,
  -0x1.6a09e667f3bcdp-1, -0x1.8bc806b151741p-1, -0x1.a9b66290ea1a3p-1, -0x1.c38b2f180bdb1p-1,
  -0x1.d906bcf328d46p-1, -0x1.e9f4156c62ddap-1, -0x1.f6297cff75cb0p-1, -0x1.fd88da3d12526p-1,
};

static const double COSINES_LOW[32] = {
  0x0.0p+0, -0x1.87df6378811c7p-55, 0x1.562172a361fd3p-56, 0x1.760b1e2e3f81ep-55,
  0x1.457e610231ac2p-56, -0x1.6e0b1757c8d07p-56, 0x1.9f630e8b6dac8p-60, -0x1.2c5e12ed1336dp-55,
  -0x1.bdd3413b26456p-55, 0x1.8076a2cfdc6b3p-57, 0x1.b25dd267f6600p-55, 0x1.e0d891d3c6841p-58,
  -0x1.72cedd3d5a610p-57, -0x1.5d28da2c4612dp-56, -0x1.26d19b9ff8d82p-57, -0x1.e2718d26ed688p-60,
  0x0.0p+0, 0x1.e2718d26ed688p-60, 0x1.26d19b9ff8d82p-57, 0x1.5d28da2c4612dp-56,
  0x1.72cedd3d5a610p-57, -0x1.e0d891d3c6841p-58, -0x1.b25dd267f6600p-55, -0x1.8076a2cfdc6b3p-57,
  0x1.bdd3413b26456p-55, 0x1.2c5e12ed1336dp-55, -0x1.9f630e8b6dac8p-60, 0x1.6e0b1757c8d07p-56,
  -0x1.457e610231ac2p-56, -0x1.760b1e2e3f81ep-55, -0x1.562172a361fd3p-56, 0x1.87df6378811c7p-55,
};

// 32 / pi.
static const double ANGLES = 0x1.45f306dc9c883p+3;

// pi / 32, and what is missing.
static const double ANGLE_HIGH = 0x1.921fb54442d18p-4;

static const double ANGLE_LOW = 0x1.1a62633145c07p-58;

// (sin(x) - x) / x^3 as a function of x^2, for |x| <= 0.0491, with an error of 2^-56.6.
static const double SIN[4] = {
  -0x1.5555555555555p-3, 0x1.11111111110dep-7, -0x1.a01a0199b2b55p-13, 0x1.71da13dc5eca9p-19,
};

// (cos(x) - 1 + x^2/2) / x^4 as a function of x^2, for |x| <= 0.0491, with an error of 2^-52.9.
static const double COS[3] = {
  0x1.5555555555544p-5, -0x1.6c16c16820704p-10, 0x1.a015b9f3117aep-16,
};

// atan(i/16) for i <= 16, and what is missing.
static const double ARCS_HIGH[32] = {
  0x0.0p+0, 0x1.ff55bb72cfdeap-5, 0x1.fd5ba9aac2f6ep-4, 0x1.7b97b4bce5b02p-3,
  0x1.f5b75f92c80ddp-3, 0x1.362773707ebccp-2, 0x1.6f61941e4def1p-2, 0x1.a64eec3cc23fdp-2,
  0x1.dac670561bb4fp-2, 0x1.0657e94db30d0p-1, 0x1.1e00babdefeb4p-1, 0x1.345f01cce37bbp-1,
  0x1.4978fa3269ee1p-1, 0x1.5d58987169b18p-1, 0x1.700a7c5784634p-1, 0x1.819d0b7158a4dp-1,
  0x1.921fb54442d18p-1, 0x0.0p+0, 0x0.0p+0, 0x0.0p+0,
  0x0.0p+0, 0x0.0p+0, 0x0.0p+0, 0x0.0p+0,
  0x0.0p+0, 0x0.0p+0, 0x0.0p+0, 0x0.0p+0,
  0x0.0p+0, 0x0.0p+0, 0x0.0p+0, 0x0.0p+0,
};

static const double ARCS_LOW[32] = {
  0x0.0p+0, -0x1.c934d86d23f1dp-60, -0x1.cd37686760c17p-59, 0x1.347b0b4f881cap-58,
  0x1.8ab6e3cf7afbdp-57, -0x1.963a544b672d8p-57, -0x1.c63aae6f6e918p-56, -0x1.24dec1b50b7ffp-56,
  0x1.a2b7f222f65e2p-56, -0x1.d5b495f6349e6p-56, -0x1.928df287a668fp-58, 0x1.1021137c71102p-55,
  0x1.2419a87f2a458p-56, 0x1.0028e4bc5e7cap-57, -0x1.8c34d25aadef6p-56, -0x1.bf76229d3b917p-56,
  0x1.1a62633145c07p-55, 0x0.0p+0, 0x0.0p+0, 0x0.0p+0,
  0x0.0p+0, 0x0.0p+0, 0x0.0p+0, 0x0.0p+0,
  0x0.0p+0, 0x0.0p+0, 0x0.0p+0, 0x0.0p+0,
  0x0.0p+0, 0x0.0p+0, 0x0.0p+0, 0x0.0p+0,
};

// pi, and what is missing.
static const double PI_HIGH = 0x1.921fb54442d18p+1;

static const double PI_LOW = 0x1.1a62633145c07p-53;

// (atan(x) - x) / x^3 as a function of x^2, for |x| <= 0.03126, with an error of 2^-55.6.
static const double ATAN[5] = {
  -0x1.5555555555555p-2, 0x1.99999999998a3p-3, -0x1.24924922a605dp-3, 0x1.c71c46b94f22cp-4,
  -0x1.73985009a1e4fp-4,
};


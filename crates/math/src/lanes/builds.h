// The names of functions in a build: `SCALAR_BUILD` is that of the functions of one double,
// `LANES_BUILD` that of those over lanes.

#define PASTE(name, suffix) kal_math_##name##_##suffix
#define NAME(name, suffix) PASTE(name, suffix)
#define SCALAR(name) NAME(name, SCALAR_BUILD)
#define OVER(name) NAME(name, LANES_BUILD)

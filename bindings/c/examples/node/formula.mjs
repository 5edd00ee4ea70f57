// A formula in Node, over single numbers and over columns, by koffi.
import koffi from "koffi";

// The library as it is installed, or where KAL_LIBRARY says.
const kal = koffi.load(process.env.KAL_LIBRARY ?? "libkal.so.1");
const ABI = 1;
const TO_ZERO = 2n ** 64n - 1n;

for (const name of ["kal_engine", "kal_context", "kal_function", "kal_kernel", "kal_error"])
    koffi.opaque(name);
koffi.struct("kal_column", { values: "double *", every: "double" });

const abi = kal.func("uint32_t kal_abi(void)");
const report = kal.func("const char *kal_error_report(kal_error *error)");
const newEngine = kal.func("kal_engine *kal_engine_new(void *config, _Out_ kal_error **error)");
const newContext = kal.func("kal_context *kal_context_new(kal_engine *engine, _Out_ kal_error **error)");
const newFormula = kal.func(
    "kal_function *kal_formula_new(kal_context *context, const char *text, size_t length," +
        " const char **parameters, size_t count, _Out_ kal_error **error)");
const call = kal.func(
    "bool kal_call(kal_context *context, kal_function *function, const double *arguments," +
        " size_t count, _Out_ double *result, _Out_ kal_error **error)");
const newKernel = kal.func(
    "kal_kernel *kal_kernel_of_formula(kal_context *context, const char *text, size_t length," +
        " const char **parameters, size_t count, _Out_ kal_error **error)");
const apply = kal.func(
    "bool kal_apply(kal_kernel *kernel, const kal_column *columns, size_t count, _Out_ double *output," +
        " void *failed, size_t rows, void *run, _Out_ kal_error **error)");
const freeError = kal.func("void kal_error_free(kal_error *error)");
const freeFunction = kal.func("void kal_function_free(kal_function *function)");
const freeKernel = kal.func("void kal_kernel_free(kal_kernel *kernel)");
const freeContext = kal.func("void kal_context_free(kal_context *context)");
const freeEngine = kal.func("void kal_engine_free(kal_engine *engine)");

// Calls a function whose last argument is the place of an error, and throws that.
function checked(work) {
    const error = [null];
    const result = work(error);
    if (result) return result;
    const text = report(error[0]);
    freeError(error[0]);
    throw new Error(text);
}

if (abi() < ABI) throw new Error("libkal.so is too old");
const engine = checked((error) => newEngine(null, error));
const context = checked((error) => newContext(engine, error));

const formula = checked((error) => newFormula(context, "w * h / 2", TO_ZERO, ["w", "h"], 2, error));
const result = [0];
checked((error) => call(context, formula, [3, 4], 2, result, error));
console.log(result[0]);

const kernel = checked((error) => newKernel(context, "a * x + 1", TO_ZERO, ["x", "a"], 2, error));
const x = Float64Array.from([1, 2, 3, 4]);
const y = new Float64Array(x.length);
const columns = [{ values: x, every: 0 }, { values: null, every: 10 }];
checked((error) => apply(kernel, columns, 2, y, null, x.length, null, error));
console.log(y.join(" "));

try {
    checked((error) => newFormula(context, "w * q", TO_ZERO, ["w"], 1, error));
} catch (error) {
    console.log(error.message);
}

freeKernel(kernel);
freeFunction(formula);
freeContext(context);
freeEngine(engine);

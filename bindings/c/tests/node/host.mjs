// A function of the host in JavaScript: the engine of Node finds itself on the stack of its thread.
import koffi from "koffi";

const kal = koffi.load(process.env.KAL_LIBRARY);
for (const name of ["kal_engine", "kal_context", "kal_error"]) koffi.opaque(name);
const host = koffi.pointer(koffi.proto(
    "bool kal_host(void *user, const double *arguments, size_t count, double *result, const char **message)"));
koffi.struct("kal_host_function", {
    name: "const char *", arity: "uint32_t", call: host, user: "void *", release: "void *",
});
// What comes after the mode is zero.
koffi.struct("kal_config", {
    size: "size_t", mode: "uint32_t", level: "uint32_t", zeros: koffi.array("uint64_t", 9),
    functions: "kal_host_function *", function_count: "size_t", more: koffi.array("uint64_t", 4),
});
const newEngine = kal.func("kal_engine *kal_engine_new(kal_config *config, _Out_ kal_error **error)");
const newContext = kal.func("kal_context *kal_context_new(kal_engine *engine, _Out_ kal_error **error)");
const evaluate = kal.func(
    "bool kal_eval(kal_context *context, const char *text, size_t length, _Out_ double *value," +
        " void *has_value, _Out_ kal_error **error)");
const report = kal.func("const char *kal_error_report(kal_error *error)");
const freeContext = kal.func("void kal_context_free(kal_context *context)");
const freeEngine = kal.func("void kal_engine_free(kal_engine *engine)");

// Goes deep, and makes garbage.
const sum = (count) => (count === 0 ? 0 : [count, sum(count - 1)].reduce((a, b) => a + b));
const call = koffi.register((user, args, count, result) => {
    koffi.encode(result, "double", sum(koffi.decode(args, "double", 1)[0]));
    return true;
}, host);

const error = [null];
for (let mode = 0; mode < 4; mode++) {
    const functions = [{ name: "sum", arity: 1, call, user: null, release: null }];
    const config = {
        size: koffi.sizeof("kal_config"), mode, level: 0, zeros: Array(9).fill(0),
        functions, function_count: 1, more: Array(4).fill(0),
    };
    const engine = newEngine(config, error);
    const context = newContext(engine, error);
    const value = [0];
    const text = "def f(n) if n == 0 then sum(1000) else f(n - 1) + 1; f(500) + f(500)";
    if (!evaluate(context, text, 2n ** 64n - 1n, value, null, error)) throw new Error(report(error[0]));
    if (value[0] !== 2 * (500500 + 500)) throw new Error(`${value[0]}`);
    freeContext(context);
    freeEngine(engine);
}
koffi.unregister(call);
console.log("all is well");

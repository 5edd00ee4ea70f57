// kal.hpp: what it adds to kal.h.
#include <kal.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <type_traits>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                   \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

// Returns the error that something throws.
template <typename Work> kal::error thrown(Work work) {
    try {
        work();
    } catch (const kal::error &error) {
        return error;
    }
    std::fprintf(stderr, "nothing was thrown\n");
    std::exit(1);
}

static_assert(!std::is_copy_constructible_v<kal::engine> && std::is_nothrow_move_constructible_v<kal::engine>);
static_assert(!std::is_copy_constructible_v<kal::context> && std::is_nothrow_move_assignable_v<kal::context>);
static_assert(std::is_copy_constructible_v<kal::error> && std::is_base_of_v<std::exception, kal::error>);
static_assert(std::is_invocable_r_v<double, kal::function<double(double, double)>, int, float>);
static_assert(!std::is_invocable_v<kal::function<double(double, double)>, double>);

static int alive = 0;

// Counts its copies.
struct Counted {
    Counted() { ++alive; }
    Counted(const Counted &) { ++alive; }
    ~Counted() { --alive; }
    double operator()(double x, double y) const { return x * 10 + y; }
};

static double plain(double x) { return x + 0.5; }

static void functions() {
    {
        kal::config config;
        config.function("counted", Counted()).function("plain", plain).function("seven", [] { return 7.0; });
        config.function("bad", [](double x) -> double {
            if (x == 0) throw 3;
            throw std::runtime_error("x is " + std::to_string(int(x)));
        });
        int calls = 0;
        config.function("count", [&calls]() mutable { return double(++calls); });
        config.mode = KAL_MODE_TIERED;
        kal::engine engine(config), second(config);
        kal::context context(engine), other(second);
        CHECK(context.eval("counted(1, 2) + plain(1) + seven()") == 20.5);
        CHECK(other.eval("counted(3, 4)") == 34);
        CHECK(context.eval("count() + count()") == 3 && calls == 2);
        CHECK(thrown([&] { context.eval("bad(5)"); }).what() == std::string("`bad` failed: x is 5"));
        auto error = thrown([&] { context.eval("bad(0)"); });
        CHECK(error.what() == std::string("`bad` failed: an exception") && error.code() == "E0306");
        CHECK(alive == 1);
    }
    CHECK(alive == 0);
    // A refused configuration keeps nothing.
    kal::config refused;
    refused.function("counted", Counted()).function("no name", plain);
    CHECK(thrown([&] { kal::engine engine(refused); }).kind() == KAL_ERROR_CALLER);
    CHECK(alive == 1);
}

static void calls() {
    kal::engine engine;
    kal::context first(engine), second(engine);
    CHECK(!first.eval("def area(w h) w * h") && first.eval("area(2, 3)") == 6);
    auto area = first.function<double(double, double)>("area");
    CHECK(area(3, 4) == 12);
    second.eval("def area(w h) w + h");
    CHECK(area.in(second, 3, 4) == 7);
    // Handles stay where they are when objects move.
    kal::context moved = std::move(first);
    auto also = std::move(area);
    CHECK(also(3, 4) == 12);
    auto none = moved.formula<double()>("6 * 7", {});
    CHECK(none() == 42);
    auto nine = moved.formula<double(double, double, double, double, double, double, double, double, double)>(
        "a+2*b+3*c+4*d+5*e+6*f+7*g+8*h+9*i", {"a", "b", "c", "d", "e", "f", "g", "h", "i"});
    CHECK(nine(1, 2, 3, 4, 5, 6, 7, 8, 9) == 285);
    bool refused = false;
    try {
        moved.formula<double(double)>("x + y", {"x", "y"});
    } catch (const std::length_error &) {
        refused = true;
    }
    CHECK(refused);
    CHECK(thrown([&] { moved.function<double(double)>("area"); }).what() ==
          std::string("`area` takes 2 arguments, not 1"));
    auto error = thrown([&] { moved.eval("1 +\n  * 2"); });
    kal::error copy = error;
    CHECK(copy.kind() == KAL_ERROR_INVALID && copy.line() == 2 && copy.source() == "<eval>");
    CHECK(copy.report() == error.report() && copy.json() == error.json() && !copy.row());
    moved.set_variable("rate", 2.5);
    CHECK(moved.variable("rate") == 2.5 && moved.eval("rate * 2") == 5);
    std::string text;
    moved.set_output([&](std::string_view part) { text += part; });
    moved.eval("printd(1); printd(2)");
    CHECK(text == "1\n2\n");
    moved.set_output([](std::string_view) { throw 1; });
    CHECK(thrown([&] { moved.eval("for i = 0, i < 9 in printd(i)"); }).kind() == KAL_ERROR_FAILED);
}

static void columns() {
    kal::engine engine;
    kal::context context(engine);
    context.eval("def f(x a) if x < 0 then missing(x) else a * x + 1");
    kal::kernel f = context.kernel("f");
    CHECK(f.arity() == 2 && !f.is_wide() && f.explain().find("missing") != std::string::npos);
    std::vector<double> x{1, 2, 3};
    CHECK((f({x, 10.0}) == std::vector<double>{11, 21, 31}));
    CHECK((f({std::vector<double>(), 10.0}).empty()));
    CHECK((f({kal::column(x.data() + 1, 2), 1.0}) == std::vector<double>{3, 4}));
    x[1] = -1;
    auto error = thrown([&] { f({x, 10.0}); });
    CHECK(error.row() == 1u && error.code() == "E0301");
    kal::run run;
    run.failing = KAL_FAILING_MARK;
    std::uint8_t failed = 0;
    double out[3];
    f.apply({x, 10.0}, out, 3, run, &failed);
    CHECK(failed == 2 && out[0] == 11 && std::isnan(out[1]));
    bool refused = false;
    try {
        f.apply({x, 10.0}, out, 2);
    } catch (const std::length_error &caught) {
        refused = caught.what() == std::string("column 0 has 3 rows, not 2");
    }
    CHECK(refused);
    auto wide = context.formula_kernel("sqrt(x)", {"x"});
    CHECK(wide.is_wide() && wide({std::vector<double>{4, 9}})[1] == 3);
    CHECK(wide.source() == "sqrt(x)");
}

static void interrupts() {
    kal::engine engine;
    kal::context context(engine);
    kal::interrupt stop = context.interrupt();
    stop.now_or_next();
    CHECK(thrown([&] { context.eval("1 + 1"); }).is_interrupt());
    CHECK(context.eval("1 + 1") == 2);
    context.set_deadline(0.02);
    CHECK(thrown([&] { context.eval("for i = 0, 1 in i"); }).kind() == KAL_ERROR_DEADLINE);
    context.set_deadline(-1);

    context.eval("def endless(x) for i = 0, 1 in x");
    auto kernel = context.kernel("endless");
    kal::interrupt button;
    kal::run run;
    run.interrupted_by(button);
    button.now_or_next();
    std::vector<double> x{1};
    CHECK(thrown([&] { kernel({x}, run); }).is_interrupt());
}

int main() {
    functions();
    calls();
    columns();
    interrupts();
    std::puts("all is well");
    return 0;
}

// A host program with a field for a formula, in C++.
#include <kal.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

int main() {
    kal::config config;
    double scale = 100;
    config.function("scaled", [scale](double x) { return scale * x; });
    config.function("positive", [](double x) {
        if (x < 0) throw std::domain_error("it is negative");
        return x;
    });
    kal::engine engine(config);
    kal::context context(engine);

    // What the user of the program has typed.
    context.eval("def discount(n) if n < 10 then 0 else 0.1");
    auto price = context.formula<double(double, double)>("scaled(p) * n * (1 - discount(n))", {"p", "n"});
    std::printf("%g %g\n", price(2, 3), price(2, 10));

    // A redefinition is seen by the next call.
    context.eval("def discount(n) 0.5");
    std::printf("%g\n", price(2, 3));

    // Over columns.
    auto kernel = context.formula_kernel("sqrt(x^2 + y^2)", {"x", "y"});
    std::vector<double> x{3, 5, 8}, y{4, 12, 15};
    for (double length : kernel({x, y})) std::printf("%g ", length);
    std::printf("wide: %d\n", kernel.is_wide());

    // Mistakes have places and reports.
    try {
        context.formula<double(double)>("1 + sqr(x)", {"x"})(2);
    } catch (const kal::error &error) {
        std::printf("%s %zu:%zu %s\n", error.code().c_str(), error.line(), error.column(), error.what());
    }
    try {
        context.eval("positive(0 - 1)");
    } catch (const kal::error &error) {
        std::printf("%s %s\n", error.code().c_str(), error.what());
    }
    return 0;
}

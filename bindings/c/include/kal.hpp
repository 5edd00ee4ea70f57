// Kal for C++17: what kal.h has, with handles that free themselves, typed functions and
// exceptions.
//
//     kal::engine engine;
//     kal::context context(engine);
//     context.eval("def area(w h) w * h / 2");
//     auto area = context.function<double(double, double)>("area");
//     area(3, 4); // 6
//
// Everything that fails throws kal::error. Objects move and are not copied; an object that was
// moved from only is destroyed or assigned to.

#ifndef KAL_HPP
#define KAL_HPP

#include "kal.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace kal {

class context;

namespace detail {

// Frees a handle.
struct free_handle {
    void operator()(kal_engine *handle) const noexcept { kal_engine_free(handle); }
    void operator()(kal_context *handle) const noexcept { kal_context_free(handle); }
    void operator()(kal_function *handle) const noexcept { kal_function_free(handle); }
    void operator()(kal_kernel *handle) const noexcept { kal_kernel_free(handle); }
    void operator()(kal_interrupt *handle) const noexcept { kal_interrupt_free(handle); }
    void operator()(char *text) const noexcept { kal_text_free(text); }
};

template <typename T> using handle = std::unique_ptr<T, free_handle>;

inline std::string owned(char *text) {
    handle<char> freed(text);
    return text ? std::string(text) : std::string();
}

} // namespace detail

// What went wrong. Copies are the same error.
class error : public std::exception {
  public:
    // Takes an error of kal.h.
    explicit error(kal_error *raw) : raw_(raw, kal_error_free) {}

    const char *what() const noexcept override { return kal_error_message(raw_.get()); }
    // One of KAL_ERROR_….
    std::uint32_t kind() const noexcept { return kal_error_kind(raw_.get()); }
    bool is_interrupt() const noexcept { return kind() == KAL_ERROR_INTERRUPTED; }
    // The code of a mistake in a program, such as "E0205", or "".
    std::string code() const { return kal_error_code(raw_.get()); }
    // The name of the text with the mistake, and its line and column there, or "", 0 and 0.
    std::string source() const { return kal_error_source(raw_.get()); }
    std::size_t line() const noexcept { return kal_error_line(raw_.get()); }
    std::size_t column() const noexcept { return kal_error_column(raw_.get()); }
    // The row of a kernel that failed.
    std::optional<std::size_t> row() const noexcept {
        std::size_t row = kal_error_row(raw_.get());
        return row == KAL_NO_ROW ? std::nullopt : std::optional<std::size_t>(row);
    }
    // All mistakes for people, with the lines of the text.
    std::string report() const { return kal_error_report(raw_.get()); }
    // Everything for programs.
    std::string json() const { return kal_error_json(raw_.get()); }

  private:
    std::shared_ptr<kal_error> raw_;
};

namespace detail {

// The place of an error in a call: `check` throws what was written there.
class place {
  public:
    kal_error **operator&() noexcept { return &raw_; }
    template <typename T> T check(T result) {
        if (!result) throw kal::error(std::exchange(raw_, nullptr));
        return result;
    }

  private:
    kal_error *raw_ = nullptr;
};

// A function of the host, as kal.h calls it: `user` is a pointer to a shared pointer to it.
template <typename Function, typename Signature> struct host;

template <typename Function, typename... Arguments> struct host<Function, double(Arguments...)> {
    static_assert((std::is_convertible_v<double, Arguments> && ...), "arguments are doubles");
    static constexpr std::uint32_t arity = sizeof...(Arguments);

    static bool call(void *user, const double *arguments, std::size_t, double *result,
                     const char **message) {
        // No exception may pass through the library. It copies the message at once.
        thread_local std::string text;
        try {
            *result = with(**static_cast<std::shared_ptr<Function> *>(user), arguments,
                           std::make_index_sequence<sizeof...(Arguments)>());
            return true;
        } catch (const std::exception &caught) {
            text = caught.what();
        } catch (...) {
            text = "an exception";
        }
        *message = text.c_str();
        return false;
    }

    static void release(void *user) { delete static_cast<std::shared_ptr<Function> *>(user); }

    template <std::size_t... Indices>
    static double with(Function &function, [[maybe_unused]] const double *arguments,
                       std::index_sequence<Indices...>) {
        return function(arguments[Indices]...);
    }
};

// The signature of something that can be called in one way.
template <typename T> struct signature : signature<decltype(&T::operator())> {};
template <typename Result, typename... Arguments> struct signature<Result (*)(Arguments...)> {
    using type = double(Arguments...);
};
template <typename Result, typename... Arguments>
struct signature<Result (*)(Arguments...) noexcept> {
    using type = double(Arguments...);
};
template <typename T, typename Result, typename... Arguments>
struct signature<Result (T::*)(Arguments...) const> {
    using type = double(Arguments...);
};
template <typename T, typename Result, typename... Arguments>
struct signature<Result (T::*)(Arguments...) const noexcept> {
    using type = double(Arguments...);
};
template <typename T, typename Result, typename... Arguments>
struct signature<Result (T::*)(Arguments...)> {
    using type = double(Arguments...);
};
template <typename T, typename Result, typename... Arguments>
struct signature<Result (T::*)(Arguments...) noexcept> {
    using type = double(Arguments...);
};

// The number of arguments of a signature.
template <typename Signature> struct arity;
template <typename... Arguments>
struct arity<double(Arguments...)>
    : std::integral_constant<std::uint32_t, static_cast<std::uint32_t>(sizeof...(Arguments))> {};

inline std::vector<const char *> pointers(const std::vector<std::string> &texts) {
    std::vector<const char *> pointers;
    for (const auto &text : texts) pointers.push_back(text.c_str());
    return pointers;
}

} // namespace detail

// How an engine is set up: the parts of kal_config, and functions of the host.
class config : public kal_config {
  public:
    config() : kal_config{} { size = sizeof(kal_config); }

    // Adds a function that programs may call by that name: anything that takes doubles and
    // returns one. Several threads may call it at the same time; an exception ends the run.
    template <typename Function> config &function(std::string name, Function &&body) {
        using Body = std::decay_t<Function>;
        using Host = detail::host<Body, typename detail::signature<Body>::type>;
        auto kept = std::make_shared<Body>(std::forward<Function>(body));
        auto user = [kept]() -> void * { return new std::shared_ptr<Body>(kept); };
        host_functions_.push_back({std::move(name), Host::arity, Host::call, Host::release, user});
        return *this;
    }

    // Adds a folder in which modules are looked for that programs import.
    config &library_path(std::string path) {
        paths_.push_back(std::move(path));
        return *this;
    }

  private:
    friend class engine;

    struct host_function {
        std::string name;
        std::uint32_t arity;
        kal_host call;
        kal_release release;
        // Makes a user pointer.
        std::function<void *()> user;
    };

    std::vector<host_function> host_functions_;
    std::vector<std::string> paths_;
};

// What contexts share. Any thread may use it at any time.
class engine {
  public:
    engine() : engine(config()) {}

    explicit engine(const config &settings) {
        kal_config given = settings;
        std::vector<kal_host_function> functions;
        functions.reserve(settings.host_functions_.size());
        for (const auto &host : settings.host_functions_)
            functions.push_back({host.name.c_str(), host.arity, host.call, host.user(), host.release});
        std::vector<const char *> paths;
        for (const auto &path : settings.paths_) paths.push_back(path.c_str());
        given.functions = functions.data();
        given.function_count = functions.size();
        given.library_paths = paths.data();
        given.library_path_count = paths.size();
        detail::place place;
        handle_.reset(kal_engine_new(&given, &place));
        if (!handle_)
            for (auto &function : functions) function.release(function.user);
        place.check(handle_.get());
    }

    const kal_engine *get() const noexcept { return handle_.get(); }

  private:
    detail::handle<kal_engine> handle_;
};

// Stops what runs, from any thread.
class interrupt {
  public:
    // Creates one for runs of kernels.
    interrupt() : handle_(kal_interrupt_new()) {}
    explicit interrupt(kal_interrupt *handle) : handle_(handle) {}

    // Stops what runs now; nothing if nothing does.
    void now() const noexcept { kal_interrupt_now(handle_.get()); }
    // Stops what runs now; if nothing does, what runs next.
    void now_or_next() const noexcept { kal_interrupt_now_or_next(handle_.get()); }
    // Forgets an interrupt that has not stopped anything.
    void clear() const noexcept { kal_interrupt_clear(handle_.get()); }

    const kal_interrupt *get() const noexcept { return handle_.get(); }

  private:
    detail::handle<kal_interrupt> handle_;
};

// A function or a formula with that signature, such as double(double, double). It is called in
// the context that it is from, which must be there; or in another of the same engine.
template <typename Signature> class function;

template <typename... Arguments> class function<double(Arguments...)> {
    static_assert((std::is_same_v<Arguments, double> && ...), "arguments are doubles");

  public:
    function(kal_context *context, kal_function *handle) : context_(context), handle_(handle) {}

    double operator()(Arguments... arguments) const { return call(context_, arguments...); }

    double in(const context &other, Arguments... arguments) const;

    const kal_function *get() const noexcept { return handle_.get(); }

  private:
    double call(kal_context *context, Arguments... arguments) const {
        // One more, since an array has no less than one.
        const double values[] = {arguments..., 0.0};
        double result = 0.0;
        detail::place place;
        place.check(kal_call(context, handle_.get(), values, sizeof...(Arguments), &result, &place));
        return result;
    }

    kal_context *context_;
    detail::handle<kal_function> handle_;
};

// An argument of a kernel: values, which are used where they are, or one for all rows.
class column {
  public:
    column(const std::vector<double> &values) : raw_{values.data(), 0.0}, rows_(values.size()) {
        // Without rows there may be no pointer, which would be a value for all.
        static constexpr double nothing = 0.0;
        if (!raw_.values) raw_.values = &nothing;
    }
    column(const double *values, std::size_t rows) : raw_{values, 0.0}, rows_(rows) {}
    column(double every) : raw_{nullptr, every} {}

    const kal_column &raw() const noexcept { return raw_; }
    // How many values it has; none if it has one for all rows.
    std::optional<std::size_t> rows() const noexcept { return rows_; }

  private:
    kal_column raw_;
    std::optional<std::size_t> rows_;
};

// How a kernel is run: the parts of kal_run.
class run : public kal_run {
  public:
    run() : kal_run{} { size = sizeof(kal_run); }

    // Makes that interrupt stop it, which has to be there as long.
    run &interrupted_by(const kal::interrupt &stop) {
        kal_run::interrupt = stop.get();
        return *this;
    }
};

// A function over columns, as it was defined when it was made. Any thread may use it at any time.
class kernel {
  public:
    explicit kernel(kal_kernel *handle) : handle_(handle) {}

    // Computes it in `rows` rows. `failed` is for KAL_FAILING_MARK.
    void apply(const std::vector<column> &columns, double *output, std::size_t rows,
               const run &how = {}, std::uint8_t *failed = nullptr) const {
        std::vector<kal_column> raw;
        raw.reserve(columns.size());
        for (const auto &column : columns) {
            if (column.rows() && *column.rows() != rows)
                throw std::length_error("column " + std::to_string(raw.size()) + " has " +
                                        std::to_string(*column.rows()) + " rows, not " +
                                        std::to_string(rows));
            raw.push_back(column.raw());
        }
        detail::place place;
        place.check(
            kal_apply(handle_.get(), raw.data(), raw.size(), output, failed, rows, &how, &place));
    }

    // Returns its values in the rows of the columns, of which one at least has rows.
    std::vector<double> operator()(const std::vector<column> &columns, const run &how = {}) const {
        std::optional<std::size_t> rows;
        for (const auto &column : columns)
            if (column.rows() && !rows) rows = column.rows();
        if (!rows) throw std::length_error("no column says how many rows there are");
        std::vector<double> output(*rows);
        apply(columns, output.data(), output.size(), how);
        return output;
    }

    std::size_t arity() const noexcept { return kal_kernel_arity(get()); }
    // Whether it computes many rows at once, and why not.
    bool is_wide() const noexcept { return kal_kernel_is_wide(get()); }
    std::string explain() const { return detail::owned(kal_kernel_explain(get())); }
    // Its definitions as a text.
    std::string source() const { return detail::owned(kal_kernel_source(get())); }

    const kal_kernel *get() const noexcept { return handle_.get(); }

  private:
    detail::handle<kal_kernel> handle_;
};

// A program in progress. One thread at a time may use it; what is called while it is in use throws.
class context {
  public:
    explicit context(const engine &engine) {
        detail::place place;
        handle_.reset(place.check(kal_context_new(engine.get(), &place)));
    }

    // Runs a text; returns the value of its last expression, if there is one.
    std::optional<double> eval(std::string_view text) {
        double value = 0.0;
        bool has_value = false;
        detail::place place;
        place.check(kal_eval(get(), text.data(), text.size(), &value, &has_value, &place));
        return has_value ? std::optional<double>(value) : std::nullopt;
    }

    // Runs a file; returns the value of its last expression, if there is one.
    std::optional<double> eval_file(const std::string &path) {
        double value = 0.0;
        bool has_value = false;
        detail::place place;
        place.check(kal_eval_file(get(), path.c_str(), &value, &has_value, &place));
        return has_value ? std::optional<double>(value) : std::nullopt;
    }

    // Returns a function by its name.
    template <typename Signature> kal::function<Signature> function(const std::string &name) {
        detail::place place;
        auto arity = detail::arity<Signature>::value;
        auto *handle = place.check(kal_function_get(get(), name.c_str(), arity, &place));
        return kal::function<Signature>(get(), handle);
    }

    // Compiles an expression whose free names are the parameters.
    template <typename Signature>
    kal::function<Signature> formula(std::string_view text, const std::vector<std::string> &parameters) {
        if (parameters.size() != detail::arity<Signature>::value)
            throw std::length_error("the signature has not as many arguments as there are parameters");
        auto names = detail::pointers(parameters);
        detail::place place;
        auto *handle = place.check(
            kal_formula_new(get(), text.data(), text.size(), names.data(), names.size(), &place));
        return kal::function<Signature>(get(), handle);
    }

    // Returns the kernel of what a name means now.
    kal::kernel kernel(const std::string &name) {
        detail::place place;
        return kal::kernel(place.check(kal_kernel_get(get(), name.c_str(), &place)));
    }

    // Returns the kernel of an expression whose free names are the parameters.
    kal::kernel formula_kernel(std::string_view text, const std::vector<std::string> &parameters) {
        auto names = detail::pointers(parameters);
        detail::place place;
        return kal::kernel(place.check(kal_kernel_of_formula(get(), text.data(), text.size(),
                                                             names.data(), names.size(), &place)));
    }

    double variable(const std::string &name) const {
        double value = 0.0;
        detail::place place;
        place.check(kal_variable(get(), name.c_str(), &value, &place));
        return value;
    }

    // Sets a variable, which is declared if it is not.
    void set_variable(const std::string &name, double value) {
        detail::place place;
        place.check(kal_set_variable(get(), name.c_str(), value, &place));
    }

    // Makes everything fail that runs that number of seconds from now or later; no longer if it is
    // negative.
    void set_deadline(double seconds) {
        detail::place place;
        place.check(kal_context_set_deadline(get(), seconds, &place));
    }

    // Sets where it prints: a function that takes a std::string_view.
    void set_output(std::function<void(std::string_view)> write) {
        using Write = std::function<void(std::string_view)>;
        auto kept = std::make_unique<Write>(std::move(write));
        auto call = [](void *user, const char *bytes, std::size_t count) {
            try {
                (*static_cast<Write *>(user))(std::string_view(bytes, count));
                return true;
            } catch (...) {
                return false;
            }
        };
        auto release = [](void *user) { delete static_cast<Write *>(user); };
        detail::place place;
        place.check(kal_context_set_output(get(), call, kept.get(), release, &place));
        kept.release();
    }

    // Returns what stops whatever runs here, from any thread.
    kal::interrupt interrupt() const { return kal::interrupt(kal_context_interrupt(get())); }

    kal_context *get() const noexcept { return handle_.get(); }

  private:
    detail::handle<kal_context> handle_;
};

template <typename... Arguments>
double function<double(Arguments...)>::in(const context &other, Arguments... arguments) const {
    return call(other.get(), arguments...);
}

} // namespace kal

#endif

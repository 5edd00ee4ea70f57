//! The `kal` command; everything is in [`kal::cli`].

fn main() -> std::process::ExitCode {
    kal::cli::main()
}

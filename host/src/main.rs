//! The `pausegate` command.

fn main() -> std::process::ExitCode {
    pausegate::commands::main()
}

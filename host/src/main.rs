//! The `pausegate` command.

/// A turn is thousands of small allocations: about a tenth of a durable call's time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    pausegate::commands::main()
}

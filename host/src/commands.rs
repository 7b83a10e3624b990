//! The command line: what a person or a script types, read by clap, done through [`crate::runner::Host`].
//!
//! One file per command. Each opens only what it needs: `--version` touches nothing, `pending` the journal alone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::report;

mod answer;
mod archive;
mod audit;
mod build;
mod call;
mod cancel;
mod chains;
mod check;
mod completions;
mod decide;
mod doctor;
pub mod exit;
mod explain;
mod failure;
mod fork;
mod grants;
mod identity;
mod inspect;
mod interrupt;
mod new;
mod notices;
mod pending;
mod plugins;
mod reach;
mod replay;
mod rest;
mod resume;
mod review;
mod run;
mod runtime;
mod say;
mod serve;
mod settle;
mod setup;
mod token;
mod tools;
mod trust;
mod work;

use failure::Failure;
use setup::Flags;

const EXAMPLES: &str = "\
Examples:
  pausegate run \"clean up the temp files under /build\" --model claude-sonnet-4-5
  pausegate pending
  pausegate approve pa_01k…
  pausegate resume ch_01k…

Exit codes:
  0 completed · 1 failed or cancelled · 2 already decided, held or ended · 64 usage · 65 a value does not fit
  66 unknown id · 69 model away · 70 a bug · 75 paused or blocked · 77 rejected or denied · 78 configuration
  130 interrupted";

/// Runs a chain of language model and sandboxed tools that pauses for people and goes on in any process
#[derive(Parser)]
#[command(name = "pausegate", version, after_help = EXAMPLES, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    flags: Flags,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Run),
    Resume(resume::Resume),
    Work(work::Worker),
    Serve(serve::Serve),
    Token(token::Token),
    Approve(decide::Approve),
    Deny(decide::Deny),
    Edit(decide::Edit),
    Respond(decide::Respond),
    Settle(settle::Settle),
    Review(review::Review),
    Pending(pending::Pending),
    Notices(notices::Notices),
    Chains(chains::Chains),
    Inspect(inspect::Inspect),
    Fork(fork::Fork),
    Replay(replay::Replay),
    Audit(audit::Audit),
    Archive(archive::Archive),
    Say(say::Say),
    Cancel(cancel::Cancel),
    Tools(tools::Tools),
    Call(call::Call),
    Plugins(plugins::Plugins),
    Check(check::Check),
    New(new::New),
    Build(build::Build),
    Trust(trust::Trust),
    Explain(explain::Explain),
    Grants(grants::Grants),
    Doctor(doctor::Doctor),
    Completions(completions::Completions),
}

/// The binary: reads the command line, does it, and returns the exit code.
pub fn main() -> ExitCode {
    let code = match Cli::try_parse() {
        Ok(cli) => {
            report::color(cli.flags.color);
            outcome(catch_unwind(AssertUnwindSafe(|| cli.command.run(&cli.flags))))
        }
        Err(error) => {
            // Help and version are what was asked for; all else is a usage error.
            error.print().ok();
            if error.use_stderr() { exit::USAGE } else { exit::COMPLETED }
        }
    };
    let code = match report::lost() {
        Some(error) => {
            report::error("cannot write to standard output", &[error.to_string()], &[]);
            exit::FAILED
        }
        None => code,
    };
    ExitCode::from(code)
}

fn outcome(done: std::thread::Result<Result<u8, Failure>>) -> u8 {
    match done {
        Ok(Ok(code)) => code,
        Ok(Err(failure)) => {
            report::error(&failure.message, &failure.causes, &failure.hints);
            failure.code
        }
        Err(_) => {
            report::error(
                "this is a bug in pausegate",
                &[],
                &["what the chain did until here is in the journal; `pausegate inspect CHAIN` shows it".to_owned()],
            );
            exit::INTERNAL
        }
    }
}

impl Command {
    fn run(&self, flags: &Flags) -> Result<u8, Failure> {
        match self {
            Self::Run(command) => command.run(flags),
            Self::Resume(command) => command.run(flags),
            Self::Work(command) => command.run(flags),
            Self::Serve(command) => command.run(flags),
            Self::Token(command) => command.run(flags),
            Self::Approve(command) => command.run(flags),
            Self::Deny(command) => command.run(flags),
            Self::Edit(command) => command.run(flags),
            Self::Respond(command) => command.run(flags),
            Self::Settle(command) => command.run(flags),
            Self::Review(command) => command.run(flags),
            Self::Pending(command) => command.run(flags),
            Self::Notices(command) => command.run(flags),
            Self::Chains(command) => command.run(flags),
            Self::Inspect(command) => command.run(flags),
            Self::Fork(command) => command.run(flags),
            Self::Replay(command) => command.run(flags),
            Self::Audit(command) => command.run(flags),
            Self::Archive(command) => command.run(flags),
            Self::Say(command) => command.run(flags),
            Self::Cancel(command) => command.run(flags),
            Self::Tools(command) => command.run(flags),
            Self::Call(command) => command.run(flags),
            Self::Plugins(command) => command.run(flags),
            Self::Check(command) => command.run(flags),
            Self::New(command) => command.run(),
            Self::Build(command) => command.run(flags),
            Self::Trust(command) => command.run(flags),
            Self::Explain(command) => command.run(flags),
            Self::Grants(command) => command.run(),
            Self::Doctor(command) => command.run(flags),
            Self::Completions(command) => command.run(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}

//! A compiler or bundler as a process, bounded in time and in what is kept of its words.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio_util::sync::CancellationToken;

use super::BuildError;
use crate::clock::since_boot;

/// Wall time of one tool; a first build of Rust's or Python's takes minutes on a slow machine.
pub const TOOL_TIME: Duration = Duration::from_secs(1800);
/// Bytes kept of each stream; what comes after them is read and dropped.
pub const OUTPUT_BYTES_MAX: usize = 8 << 20;
/// Between two looks whether it has ended.
const LOOK: Duration = Duration::from_millis(10);
/// After its end, for a stream that something it started still holds open.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A process about to run, with the name that its author knows it by.
pub struct Tool {
    name: String,
    command: Command,
    time: Duration,
}

impl Tool {
    pub fn new(name: &str, mut command: Command) -> Self {
        // A group of its own, so that what it starts ends with it.
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        Self { name: name.to_owned(), command, time: TOOL_TIME }
    }

    #[cfg(test)]
    pub fn within(self, time: Duration) -> Self {
        Self { time, ..self }
    }

    /// Standard output of a tool that succeeded.
    pub fn run(mut self, cancel: &CancellationToken) -> Result<Vec<u8>, BuildError> {
        let mut child = self.command.spawn().map_err(|source| BuildError::Start { tool: self.name.clone(), source })?;
        let (out, err) = (kept(child.stdout.take()), kept(child.stderr.take()));
        let status = self.ended(&mut child, cancel)?;
        let words = |stream: mpsc::Receiver<Vec<u8>>| stream.recv_timeout(LAST_WORDS).unwrap_or_default();
        let (out, err) = (words(out), words(err));
        if status.success() {
            return Ok(out);
        }
        let said = if err.is_empty() { out } else { err };
        Err(BuildError::Failed { tool: self.name, said: String::from_utf8_lossy(&said).into_owned() })
    }

    fn ended(&self, child: &mut Child, cancel: &CancellationToken) -> Result<ExitStatus, BuildError> {
        let start = since_boot();
        loop {
            if let Some(status) = child.try_wait().map_err(|source| BuildError::Start { tool: self.name.clone(), source })? {
                return Ok(status);
            }
            let late = since_boot().saturating_sub(start) > self.time;
            if late || cancel.is_cancelled() {
                end(child);
                let how = format!("took longer than {:?}", self.time);
                return Err(if late { BuildError::Stopped { tool: self.name.clone(), how } } else { BuildError::Interrupted });
            }
            thread::sleep(LOOK);
        }
    }
}

/// With all that it started.
fn end(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _gone_already = kill_process_group(group, Signal::KILL);
    }
    let _reaped = child.wait();
}

/// The stream's first bytes, once it has ended.
fn kept(stream: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::sync_channel(1);
    if let Some(mut stream) = stream {
        thread::spawn(move || {
            let mut kept = Vec::new();
            let _cut = stream.by_ref().take(OUTPUT_BYTES_MAX as u64).read_to_end(&mut kept);
            // A tool that is not read any more would wait for ever.
            let _dropped = std::io::copy(&mut stream, &mut std::io::sink());
            let _unheard = sender.send(kept);
        });
    }
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Tool {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Tool::new("sh", command)
    }

    #[test]
    fn a_tool_gives_its_output_or_its_words_of_failure() {
        let go = CancellationToken::new();
        assert_eq!(shell("echo out; echo err >&2").run(&go).unwrap(), b"out\n");
        let failed = |script: &str| match shell(script).run(&go) {
            Err(BuildError::Failed { said, .. }) => said,
            other => panic!("{other:?}"),
        };
        assert_eq!(failed("echo out; echo err >&2; exit 3"), "err\n");
        assert_eq!(failed("echo out; exit 3"), "out\n");
        let missing = Tool::new("nothing", Command::new("/nowhere/nothing")).run(&go);
        assert!(matches!(missing, Err(BuildError::Start { .. })), "{missing:?}");
    }

    #[test]
    fn what_a_tool_says_is_kept_up_to_a_limit_and_it_goes_on() {
        let go = CancellationToken::new();
        let said = |bytes: usize| shell(&format!("head -c {bytes} /dev/zero; echo done >&2")).run(&go).unwrap().len();
        assert_eq!(said(OUTPUT_BYTES_MAX - 1), OUTPUT_BYTES_MAX - 1);
        assert_eq!(said(OUTPUT_BYTES_MAX + 1), OUTPUT_BYTES_MAX);
    }

    #[test]
    fn a_tool_that_hangs_ends_with_all_that_it_started() {
        let go = CancellationToken::new();
        let hung = shell("sleep 1000 & wait").within(Duration::from_millis(50)).run(&go);
        assert!(matches!(&hung, Err(BuildError::Stopped { how, .. }) if how == "took longer than 50ms"), "{hung:?}");
        go.cancel();
        assert!(matches!(shell("sleep 1000").run(&go), Err(BuildError::Interrupted)));
    }
}

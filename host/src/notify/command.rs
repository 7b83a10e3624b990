//! A program of the operator's that is told: JSON on its standard input, no shell, little time, little heard of it.
//!
//! It gets no key of a model and no secret: of the environment only what programs need to find their way.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use super::Undelivered;
use crate::report::escape;

/// Of its standard error, kept to say why it failed; whatever it says beyond that meets a closed pipe.
const HEARD_BYTES_MAX: u64 = 4 << 10;
/// For the last words of a program that has ended, or was ended.
const LAST_WORDS: Duration = Duration::from_millis(500);
const PASSED_ON: [&str; 8] = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR"];

pub async fn run(program: &Path, arguments: &[String], input: String, time: Duration) -> Result<(), Undelivered> {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().current_dir("/").process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.envs(PASSED_ON.iter().filter_map(|name| Some((*name, std::env::var_os(name)?))));
    let shown = program.display().to_string();
    let ran = tokio::task::spawn_blocking(move || told(command, input, time)).await;
    let ran = ran.unwrap_or_else(|_| Err("was not started".to_owned()));
    ran.map_err(|why| Undelivered::Now(format!("`{shown}` {why}")))
}

fn told(mut command: Command, input: String, time: Duration) -> Result<(), String> {
    let mut child = command.spawn().map_err(|error| format!("cannot be started: {error}"))?;
    let group = Pid::from_child(&child);
    let stdin = child.stdin.take();
    // A program that does not read it leaves the pipe full; this thread ends with the pipe.
    std::thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(input.as_bytes())));
    let heard = heard(&mut child);
    let (tell, ended) = channel();
    std::thread::spawn(move || tell.send(child.wait()));
    let status = match ended.recv_timeout(time) {
        Ok(status) => status.map_err(|error| format!("cannot be waited for: {error}")),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Err(format!("took more than {} s and was ended", time.as_secs_f32())),
    };
    // With whatever it started and left behind.
    kill_process_group(group, Signal::KILL).ok();
    outcome(status?, &heard)
}

fn outcome(status: ExitStatus, heard: &Receiver<String>) -> Result<(), String> {
    if status.success() {
        return Ok(());
    }
    let said = heard.recv_timeout(LAST_WORDS).unwrap_or_default();
    let said = said.trim();
    Err(if said.is_empty() { format!("ended with {status}") } else { format!("ended with {status}: {}", escape::line(said)) })
}

fn heard(child: &mut Child) -> Receiver<String> {
    let (tell, heard) = channel();
    if let Some(stderr) = child.stderr.take() {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            stderr.take(HEARD_BYTES_MAX).read_to_end(&mut bytes).ok();
            tell.send(String::from_utf8_lossy(&bytes).into_owned()).ok();
        });
    }
    heard
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn sh(script: &str, time: Duration) -> Result<(), Undelivered> {
        run(Path::new("/bin/sh"), &["-c".to_owned(), script.to_owned()], r#"{"id":"no_1"}"#.to_owned(), time).await
    }

    #[tokio::test]
    async fn h68_a_command_reads_json_and_its_end_says_whether_it_was_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("got");
        sh(&format!("cat > {}", file.display()), Duration::from_secs(20)).await.unwrap();
        assert_eq!(std::fs::read_to_string(file).unwrap(), r#"{"id":"no_1"}"#);
        let failed = sh("echo 'no \x1b[2Jway' >&2; exit 3", Duration::from_secs(20)).await.unwrap_err();
        assert_eq!(failed.to_string(), "`/bin/sh` ended with exit status: 3: no \\u{1b}[2Jway");
        let missing = run(Path::new("/nowhere/tell"), &[], String::new(), Duration::from_secs(1)).await.unwrap_err();
        assert!(missing.to_string().starts_with("`/nowhere/tell` cannot be started"), "{missing}");
    }

    #[tokio::test]
    async fn h68_a_command_that_hangs_is_ended_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let (alive, fifo) = (folder.path().join("pid"), folder.path().join("fifo"));
        // The child of the child holds the pipe for writing as long as it lives.
        let script = format!("mkfifo {0}; (exec sleep 1000) & echo $! > {1}; exec sleep 1000", fifo.display(), alive.display());
        let failed = sh(&script, Duration::from_millis(500)).await.unwrap_err();
        assert!(failed.to_string().contains("took more than 0.5 s and was ended"), "{failed}");
        let pid: i32 = std::fs::read_to_string(alive).unwrap().trim().parse().unwrap();
        let gone = || std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z "));
        let patience = std::time::Duration::from_secs(20);
        let waited = tokio::time::timeout(patience, async {
            while !gone() {
                tokio::task::yield_now().await;
            }
        });
        assert!(waited.await.is_ok(), "{pid} lives on");
    }

    #[tokio::test]
    async fn a_command_that_says_without_end_is_not_listened_to_without_end() {
        assert!(sh("yes >&2", Duration::from_secs(20)).await.is_err(), "it meets a closed pipe");
    }
}

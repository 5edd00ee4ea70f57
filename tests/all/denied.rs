//! Processes that may not make memory executable, have no files in memory, or
//! may write nowhere.
#![allow(unsafe_code)]

use crate::binary::{Ran, feed, kal};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

const MODES: [&[&str]; 7] = [
    &["--lazy"],
    &["--eager"],
    &["--tiered"],
    &["--tiered", "--tier-up-waits"],
    &["--interpret"],
    &["--lazy", "--gdb"],
    &["--lazy", "--perf"],
];

const PROGRAM: &str = "def f(x) x + 1; def g(n) (for i = 1, i < n in f(i)) + f(n); printd(g(100000)); \
                       def f(x) x * 2; g(21)";

/// What the kernel answers with EPERM.
#[derive(Clone, Copy, Debug)]
pub enum Denied {
    /// `mprotect` to executable: what systemd's `MemoryDenyWriteExecute` does.
    Executable,
    /// Files in memory.
    Files,
    /// A second mapping of memory.
    Remapping,
    /// Processes, not threads: `clone` without shared memory.
    Forks,
}

impl Denied {
    /// Returns the call, the number of the argument that decides, bits, and whether it is
    /// denied with one of them rather than with none.
    fn call(self) -> (libc::c_long, u32, u32, bool) {
        match self {
            Self::Executable => (libc::SYS_mprotect, 2, libc::PROT_EXEC as u32, true),
            Self::Files => (libc::SYS_memfd_create, 0, 0, false),
            Self::Remapping => (libc::SYS_mremap, 0, 0, false),
            Self::Forks => (libc::SYS_clone, 0, libc::CLONE_VM as u32, false),
        }
    }

    /// Denies it to this process and its children.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn deny(self) -> io::Result<()> {
        let (call, argument, bits, with) = self.call();
        let instruction = |code, jt, jf, k| libc::sock_filter { code: code as libc::__u16, jt, jf, k };
        let load = |offset| instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset);
        let jump = |test, jt, jf, k| instruction(libc::BPF_JMP | test | libc::BPF_K, jt, jf, k);
        let answer = |k| instruction(libc::BPF_RET | libc::BPF_K, 0, 0, k);
        let (if_set, if_not) = if with { (0, 1) } else { (1, 0) };
        // The call's number is at 0 of `seccomp_data`, its arguments are from 16 on.
        let mut filter = [
            load(0),
            jump(libc::BPF_JEQ, 0, 3, call as u32),
            load(16 + 8 * argument),
            jump(libc::BPF_JSET, if_set, if_not, bits),
            answer(libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
            answer(libc::SECCOMP_RET_ALLOW),
        ];
        let program = libc::sock_fprog { len: filter.len() as _, filter: filter.as_mut_ptr() };
        // SAFETY: the kernel copies the program during the call.
        let denied = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
        };
        if denied { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Makes the kernel refuse memory that becomes executable later, where it can
/// (Linux 6.3).
fn refuse_gains() {
    const PR_SET_MDWE: libc::c_int = 65;
    const REFUSE_EXEC_GAIN: libc::c_ulong = 1;
    // SAFETY: this changes what later calls are allowed, and nothing else.
    unsafe { libc::prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0) };
}

/// Runs a command to its end, and removes the map for perf that it may have written.
fn finish_without_map(command: &mut Command) -> Ran {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let map = format!("/tmp/perf-{}.map", child.id());
    let output = child.wait_with_output().expect("it ends");
    let _ = std::fs::remove_file(map);
    Ran { stdout: output.stdout, stderr: output.stderr, code: output.status.code() }
}

/// Runs the command in a process that is denied something.
fn run(denied: &'static [Denied], arguments: &[&str]) -> Ran {
    let mut command = kal();
    // SAFETY: between fork and exec, only system calls are made.
    unsafe {
        command.pre_exec(move || {
            if denied.iter().any(|what| matches!(what, Denied::Executable)) {
                refuse_gains();
            }
            denied.iter().try_for_each(|what| what.deny())
        });
    }
    finish_without_map(command.args(arguments))
}

#[test]
fn no_memory_need_become_executable_and_no_file_be_in_it() {
    const CASES: [&[Denied]; 3] =
        [&[Denied::Executable], &[Denied::Files], &[Denied::Executable, Denied::Files]];
    for (denied, mode) in CASES.into_iter().flat_map(|denied| MODES.map(|mode| (denied, mode))) {
        let ran = run(denied, &[mode, &["-e", PROGRAM]].concat());
        assert_eq!((ran.out(), ran.err()), ("100001\n0\n42\n", ""), "{denied:?} {mode:?}");
        assert_eq!(ran.code, Some(0), "{denied:?} {mode:?}");
    }
}

#[test]
fn without_memory_for_code_programs_are_interpreted_or_told_how() {
    for mode in MODES {
        let ran = run(&[Denied::Files, Denied::Remapping], &[mode, &["-e", PROGRAM]].concat());
        if ["--tiered", "--interpret"].contains(&mode[0]) {
            assert_eq!((ran.out(), ran.err(), ran.code), ("100001\n0\n42\n", "", Some(0)), "{mode:?}");
        } else {
            let expected = "error: no code memory: mremap: Operation not permitted (os error 1); \
                            `--interpret` (`Mode::Interpret`) needs none\n";
            assert_eq!((ran.out(), ran.err(), ran.code), ("", expected, Some(1)), "{mode:?}");
        }
    }
}

#[test]
fn nothing_need_be_written_anywhere() {
    for home in ["/nonexistent", "/dev/null", "/proc", ""] {
        let places = ["HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"];
        let command = || {
            let mut command: Command = kal();
            command.envs(places.map(|place| (place, home)));
            command
        };
        for mode in MODES {
            let ran = finish_without_map(command().args(mode).args(["-e", PROGRAM]));
            assert_eq!((ran.out(), ran.err(), ran.code), ("100001\n0\n42\n", "", Some(0)), "{home} {mode:?}");
        }
        let ran = feed(command().arg("repl"), b"var x = 6; x * 7\n:list\n:quit\n");
        assert_eq!((ran.err(), ran.code), ("", Some(0)), "{home}");
        assert!(ran.out().starts_with("x = 6\n42\n"), "{home}: {}", ran.out());
    }
}

//! What a run leaves to a child when it ends: the packs of a long program.
#![allow(unsafe_code)]

use crate::binary::finish;
use crate::caching::{CachedRun, World};
use crate::denied::Denied;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// How often a run is repeated that may have been slower than its child.
const TIMES: usize = 50;

/// Returns a program of so many functions, all called.
fn program(functions: usize) -> String {
    let definitions = (0..functions).map(|n| format!("def f{n}(x) x * {n} + 1\n"));
    let calls = (0..functions).map(|n| format!("(if x > 0 then f{n}(x) else 0)"));
    let sum = calls.collect::<Vec<_>>().join(" + ");
    definitions.chain([format!("def all(x) {sum}\nall(2)\n")]).collect()
}

/// Returns a world with such a program.
fn world_with(functions: usize) -> World {
    let world = World::new();
    world.write("p.kal", &program(functions));
    world
}

fn answer(functions: usize) -> String {
    format!("{}\n", functions * (functions - 1) + functions)
}

/// Returns the command, which does not say what the cache does: then nothing waits for it.
fn kal(world: &World, file: &str) -> Command {
    world.quiet_kal(&["--stats", file])
}

/// Asserts that a start finds what an earlier one has left.
fn finds_all(ran: &CachedRun, functions: usize) {
    assert_eq!((ran.out.as_str(), ran.code), (answer(functions).as_str(), Some(0)));
    assert_eq!((ran.count("parsed_units"), ran.count("cache_misses")), (Some(0), Some(0)), "{:?}", ran.stats);
}

/// The next start waits for what the child of the one before it still writes.
#[test]
fn the_next_start_finds_what_is_being_written() {
    let world = world_with(3000);
    for _ in 0..5 {
        assert_eq!(finish(&mut kal(&world, "p.kal")).out(), answer(3000));
        finds_all(&CachedRun::of(finish(&mut kal(&world, "p.kal"))), 3000);
        assert!(world.packs().len() == 1 && world.files().len() == 1, "{:?}", world.files());
        std::fs::remove_dir_all(world.at("caches")).expect("it is there");
    }
}

/// A run has ended before its packs are there, and whatever it was started with is closed.
#[test]
fn a_run_does_not_wait_for_its_packs() {
    let world = world_with(6000);
    let was_quicker = (0..TIMES).any(|_| {
        let _ = std::fs::remove_dir_all(world.at("caches"));
        let (mut end, other) = std::io::pipe().expect("there is a pipe");
        let inherited = other.as_raw_fd();
        let mut command = kal(&world, "p.kal");
        // SAFETY: between fork and exec, only a system call is made.
        unsafe {
            command.pre_exec(move || {
                libc::fcntl(inherited, libc::F_SETFD, 0);
                Ok(())
            });
        }
        let ran = finish(&mut command);
        drop((command, other));
        // Ends when no process has the other end.
        end.read_to_end(&mut Vec::new()).expect("it can be read");
        let is_there = !world.packs().is_empty();
        assert_eq!((ran.out(), ran.code), (answer(6000).as_str(), Some(0)));
        finds_all(&CachedRun::of(finish(&mut kal(&world, "p.kal"))), 6000);
        !is_there
    });
    assert!(was_quicker, "the packs were there first, {TIMES} times");
}

/// A signal to the group of a run, as from a terminal, does not reach its child.
#[test]
fn the_end_of_a_terminal_loses_nothing() {
    let world = world_with(3000);
    let mut run = kal(&world, "p.kal");
    run.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut run = run.spawn().expect("it starts");
    let group = run.id() as libc::pid_t;
    // SAFETY: it waits for the run, and leaves its status to be read; then the group is still
    // that of the run.
    unsafe {
        let mut information: libc::siginfo_t = std::mem::zeroed();
        libc::waitid(libc::P_PID, run.id(), &raw mut information, libc::WEXITED | libc::WNOWAIT);
        libc::kill(-group, libc::SIGKILL);
    }
    assert!(run.wait().expect("it has ended").success());
    finds_all(&CachedRun::of(finish(&mut kal(&world, "p.kal"))), 3000);
}

/// What is removed while it is written stays removed, with its folders.
#[test]
fn what_is_removed_meanwhile_is_not_made_again() {
    let world = world_with(6000);
    let was_removed = (0..TIMES).any(|_| {
        assert_eq!(finish(&mut kal(&world, "p.kal")).out(), answer(6000));
        // Its child has it locked until it ends.
        let locks = world.files().into_iter().filter(|file| file.extension().is_none());
        let locked: Vec<File> = locks.filter_map(|lock| File::open(lock).ok()).collect();
        let is_written = !world.packs().is_empty();
        for folder in ["caches", "state"] {
            // Removing it meets what is made at the same time.
            while std::fs::remove_dir_all(world.at(folder)).is_err() && world.at(folder).exists() {}
        }
        locked.iter().for_each(|file| file.lock().expect("it can be locked"));
        assert!(!world.at("caches").exists() && !world.at("state").exists());
        !is_written && !locked.is_empty()
    });
    assert!(was_removed, "the packs were there first, {TIMES} times");
}

/// A process that may not fork writes its packs itself; so does one that says what the cache does.
#[test]
fn without_a_child_a_run_writes_its_packs_itself() {
    let world = world_with(3000);
    let mut alone = kal(&world, "p.kal");
    // SAFETY: between fork and exec, only system calls are made.
    unsafe { alone.pre_exec(|| Denied::Forks.deny()) };
    assert_eq!(finish(&mut alone).out(), answer(3000));
    assert!(world.packs().len() == 1 && world.files().len() == 1, "{:?}", world.files());
    std::fs::remove_dir_all(world.at("caches")).expect("it is there");
    assert!(world.run(&["p.kal"]).says("cache: wrote"));
    assert_eq!(world.packs().len(), 1);
}

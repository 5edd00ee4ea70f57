//! Packs with large texts: all of them is checked once, and what is used of them each time.

use crate::caching::World;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The attribute that says that all of a file was checked.
const MARK: &str = "user.kal.whole";

/// Sets the time of a file, as if it had been left alone since.
pub fn leave_alone(file: &Path) -> SystemTime {
    let time = SystemTime::now() - Duration::from_secs(600);
    File::options().write(true).open(file).and_then(|file| file.set_modified(time)).expect("it is ours");
    time
}

pub fn is_marked(file: &Path) -> bool {
    let mut mark = [0; 64];
    rustix::fs::getxattr(file, MARK, &mut mark[..]).is_ok_and(|length| length == 32)
}

/// Returns a world with the pack of a program of 6000 functions, of which a few are called, and what
/// that prints.
fn packed() -> (World, PathBuf, String) {
    let world = World::new();
    let functions: String =
        (0..6000).map(|n| format!("def f{n}(x y) if x < y then x * {n} + 1 else y\n")).collect();
    let calls: String = (0..6000).step_by(500).map(|n| format!("f{n}(1, 2)\n")).collect();
    world.write("p.kal", &(functions + &calls));
    let out = world.run(&["p.kal"]).outcome().0;
    let [pack] = &world.packs()[..] else { panic!("one pack is written") };
    assert!(fs::metadata(pack).expect("it is there").len() > 600_000);
    let pack = pack.clone();
    (world, pack, out)
}

#[test]
fn a_pack_is_checked_as_a_whole_until_it_has_been_left_alone() {
    let (world, pack, out) = packed();
    let run = || {
        let ran = world.run(&["p.kal"]);
        assert_eq!((ran.outcome().0, ran.count("parsed_units")), (out.clone(), Some(0)));
    };
    run();
    assert!(!is_marked(&pack), "it has just been written");
    leave_alone(&pack);
    run();
    if !is_marked(&pack) {
        eprintln!("this file system has no attributes of users");
        return;
    }
    run();
    // As it is written again, so is it checked again, wherever the damage is.
    let whole = fs::read(&pack).expect("it is there");
    for part in 1..40 {
        let mut damaged = whole.clone();
        let at = damaged.len() * part / 40;
        damaged[at] ^= 1;
        fs::write(&pack, &damaged).expect("it is ours");
        let ran = world.run(&["p.kal"]);
        assert_eq!(ran.outcome().0, out, "byte {at}");
        // It has been left out and replaced, or nothing is wrong that was needed.
        fs::write(&pack, &whole).expect("it is ours");
        leave_alone(&pack);
        run();
    }
}

#[test]
fn what_is_damaged_behind_a_mark_is_found_by_who_looks_for_it() {
    let (world, pack, out) = packed();
    let time = leave_alone(&pack);
    assert_eq!(world.run(&["p.kal"]).outcome().0, out);
    if !is_marked(&pack) {
        return;
    }
    // At the end is the table of items, in a text that is otherwise not needed.
    let file = File::options().read(true).write(true).open(&pack).expect("it is ours");
    let last = file.metadata().expect("it is open").len() - 1;
    std::os::unix::fs::FileExt::write_all_at(&file, b"?", last).expect("it is ours");
    file.set_modified(time).expect("it is ours");
    let cache = |command: &str| crate::binary::finish(world.kal(&[]).args(["cache", command]));
    assert_eq!(cache("verify").out().lines().last(), Some("0 packs are good, 1 are not"));
}

//! What `kal build` has made: running the program in an executable, and calling the functions
//! of a library.
//!
//! What the image has no code for, or not for this processor, is compiled by the baseline
//! compiler: answers are the same.

#![allow(unsafe_code)]

mod library;

use crate::config::Config;
use crate::engine::{Engine, EngineInner};
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::image::Image;
use crate::limits::Limits;
use crate::terminal::exit::{self, Exit};
use crate::terminal::interrupt;
use crate::terminal::outcome::printed;
use crate::terminal::report::{Colors, Reporter};
use crate::tier::{Level, TierUp};
pub use library::{ContextFreeCode, Library, LibraryContext, described};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::stdio;
use std::ops::ControlFlow;
use std::os::fd::IntoRawFd;
use std::sync::Arc;

/// What a runtime says of its build, in the bytes of its file.
pub const BUILD_MARK: [u8; MARK.len() + 32] = build_mark();

const MARK: &[u8; 18] = b"kal runtime build ";

const fn build_mark() -> [u8; MARK.len() + 32] {
    let (mut mark, mut at) = ([0; MARK.len() + 32], 0);
    while at < mark.len() {
        mark[at] = if at < MARK.len() { MARK[at] } else { Fingerprint::BUILD.as_bytes()[at - MARK.len()] };
        at += 1;
    }
    mark
}

/// Runs the program in an image as `kal FILE` does, with the arguments of this process.
/// Returns the exit code.
///
/// # Safety
/// The code in the image may be run: it was made by [`ImageBuilder`](crate::ImageBuilder), and only trusted users could change it.
pub unsafe fn run(image: &'static [u8]) -> u8 {
    open_standard_streams();
    let mut reporter = Reporter::new(Colors::of_terminal());
    let image = Image::read("this program".to_owned(), Arc::new(image));
    let image = image.map_err(|error| Error::ImageRequired(error.to_string()));
    let exit = match image.and_then(|image| start(&image, &mut reporter)) {
        Ok(exit) => exit,
        Err(error) => {
            reporter.error(&error);
            Exit::Failed
        }
    };
    exit::leave(reporter.ended(exit))
}

/// Opens the standard streams that are closed, on `/dev/null`: the next file that is opened would be
/// taken for them. A program whose `main` is Rust's does so by itself.
fn open_standard_streams() {
    let all = [stdio::stdin(), stdio::stdout(), stdio::stderr()];
    let mut streams = all.each_ref().map(|stream| PollFd::new(stream, PollFlags::empty()));
    let _ = poll(&mut streams, Some(&Timespec::default()));
    for _ in streams.iter().filter(|stream| stream.revents().contains(PollFlags::NVAL)) {
        // It gets the lowest number that is free, and stays open.
        let _ = rustix::fs::open("/dev/null", OFlags::RDWR, Mode::empty()).map(IntoRawFd::into_raw_fd);
    }
}

fn start(image: &Image, reporter: &mut Reporter) -> Result<Exit, Error> {
    let program = image.program().ok_or_else(|| Error::ImageRequired("there is no program in it".into()))?;
    // It keeps nothing for later runs, and is linked without what would.
    let engine = Engine::with_ending(config(image).keep_texts(false), EngineInner::close)?;
    let mut context = engine.context_of_image()?;
    context
        .set_arguments(std::env::args_os().skip(1).map(|text| text.to_string_lossy().into_owned()).collect());
    interrupt::install(context.interrupt_handle(), None);
    let mut exit = Exit::Fine;
    let _ = context.run_for_values(program, &mut |context, outcome| {
        exit = printed(context, outcome, reporter);
        if exit == Exit::Fine { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let exit = reporter.printed(context.output().flush(), exit);
    // The process ends, so nothing need be taken apart.
    std::mem::forget((context, engine));
    Ok(exit)
}

/// Returns how an engine is set up that has the code of an image.
pub(crate) fn config(image: &Image) -> Config {
    let info = image.info();
    let level = Level::ALL.into_iter().find(|level| *level as u8 == info.level).unwrap_or_default();
    let limits = Limits { stack: STACK, max_nesting: info.max_nesting, fuel: info.fuel, ..Limits::default() };
    let mut config = Config::new().image(image.clone()).level(level).tier_up(TierUp::Never).limits(limits);
    config.uses_checked_texts = true;
    config
}

/// The stack of programs, in bytes: that of the command.
const STACK: usize = 256 << 20;

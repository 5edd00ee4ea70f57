//! Work for a worker and its result, which one thread waits for.

use super::worker::{self, Announcement, Urgency, Workers};
use crate::failure::Failure;
use crate::stop::StopHandle;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a thread waits for a worker between polls for a request to stop.
const PATIENCE: Duration = Duration::from_millis(10);

/// A result that one thread waits for and a worker provides; `Some(None)` if
/// the work ended without a result.
pub(super) struct Answer<T> {
    value: Mutex<Option<Option<T>>>,
    given: Condvar,
}

/// The duty to provide the result; a panic discharges it with `None`.
struct Giver<T>(Arc<Answer<T>>);

impl<T: Send + 'static> Answer<T> {
    /// Queues work for a worker and returns the place of its result. Skips the
    /// work if no thread holds the [`Answer`] any more when its turn comes.
    ///
    /// # Errors
    /// If no worker can be started.
    pub(super) fn ask(
        workers: &Workers,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Arc<Self>, Failure> {
        let answer = Arc::new(Self { value: Mutex::new(None), given: Condvar::new() });
        let giver = Giver(answer.clone());
        let job = Box::new(move || {
            let value = giver.is_awaited().then(work);
            Box::new(move || giver.give(value)) as Announcement
        });
        if worker::is_worker() {
            // This worker may be the only one, and cannot wait for itself.
            worker::perform(job)();
            return Ok(answer);
        }
        workers.submit(Urgency::Now, job).map_err(|error| Failure::System(error.to_string()))?;
        Ok(answer)
    }

    /// Waits for the result, or for a request to stop if there is a `stopper`.
    ///
    /// # Errors
    /// The request to stop, or a worker that ended without a result.
    pub(super) fn wait(&self, workers: &Workers, stopper: Option<&StopHandle>) -> Result<T, Failure> {
        let mut value = self.value();
        loop {
            match value.take() {
                Some(Some(value)) => return Ok(value),
                Some(None) => return Err(Failure::internal("a compile worker panicked")),
                None => {
                    let waited = self.given.wait_timeout(value, PATIENCE);
                    value = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
            if let (None, Some(stopper)) = (&*value, stopper)
                && let Some(request) = stopper.take()
            {
                workers.substitute();
                return Err(request.into());
            }
        }
    }
}

impl<T> Answer<T> {
    fn value(&self) -> MutexGuard<'_, Option<Option<T>>> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Giver<T> {
    fn is_awaited(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    fn give(self, value: Option<T>) {
        *self.0.value() = Some(value);
    }
}

impl<T> Drop for Giver<T> {
    fn drop(&mut self) {
        self.0.value().get_or_insert(None);
        self.0.given.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::CompileOptions;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    #[test]
    fn what_nobody_waits_for_is_passed_over() {
        let workers = Workers::new(Some(1), 0, CompileOptions::default());
        let (go_on, wait) = mpsc::channel::<()>();
        let busy = Answer::ask(&workers, move || wait.recv().is_ok()).expect("it starts");
        let done = Arc::new(AtomicUsize::new(0));
        let ask = || {
            let done = done.clone();
            Answer::ask(&workers, move || done.fetch_add(1, Ordering::Relaxed)).expect("there is a worker")
        };
        for _ in 0..24 {
            drop(ask());
        }
        let last = ask();
        go_on.send(()).expect("it waits");
        assert_eq!(last.wait(&workers, None).expect("it is done"), 0, "only what is waited for is done");
        assert!(busy.wait(&workers, None).expect("it is done"));
        workers.close();
        assert_eq!(done.load(Ordering::Relaxed), 1);
    }
}

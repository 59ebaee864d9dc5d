//! Jobs: work that an agreement leaves to the thread that drives it, such as moving the bytes of a
//! file. The driver runs it without the lock of the state, or hands it to another thread.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

/// The jobs of one agreement, at most one at a time. Clones are the same.
#[derive(Clone, Default)]
pub struct Jobs {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
enum State {
    #[default]
    None,
    /// And whether the driver has told a helper thread of it.
    Posted(Box<dyn FnOnce() + Send>, bool),
    Taken,
    Done,
}

/// A job to be run.
pub struct Job {
    work: Box<dyn FnOnce() + Send>,
    of: Jobs,
}

impl Jobs {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the driver has done the work.
    pub async fn run<R: Send + 'static>(&self, work: impl FnOnce() -> R + Send + 'static) -> R {
        let result = Arc::new(Mutex::new(None));
        let place = Arc::clone(&result);
        let keep = move || *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(work());
        *self.state() = State::Posted(Box::new(keep), false);
        poll_fn(|_| {
            let mut state = self.state();
            if let State::Done = *state {
                *state = State::None;
                return Poll::Ready(());
            }
            Poll::Pending
        })
        .await;
        let result = result.lock().unwrap_or_else(PoisonError::into_inner).take();
        result.unwrap_or_else(|| unreachable!("a job that is done has its result"))
    }

    /// The job that waits to be run.
    pub fn take(&self) -> Option<Job> {
        let mut state = self.state();
        match std::mem::take(&mut *state) {
            State::Posted(work, _) => {
                *state = State::Taken;
                Some(Job { work, of: self.clone() })
            }
            other => {
                *state = other;
                None
            }
        }
    }

    /// Whether a job waits of which this was not said before.
    pub fn is_new(&self) -> bool {
        match &mut *self.state() {
            State::Posted(_, told) => !std::mem::replace(told, true),
            _ => false,
        }
    }
}

impl Job {
    pub fn run(self) {
        (self.work)();
        *self.of.state() = State::Done;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::task::{Context, Waker};

    #[test]
    fn an_agreement_continues_when_its_job_is_done() {
        let jobs = Jobs::default();
        let same = jobs.clone();
        let mut future = Box::pin(async move { same.run(|| 3).await + same.run(|| 4).await });
        let mut poll = || future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(jobs.take().is_none() && poll().is_pending());
        let job = jobs.take().unwrap();
        assert!(jobs.take().is_none() && poll().is_pending() && !jobs.is_new());
        job.run();
        assert!(poll().is_pending());
        assert!(jobs.is_new() && !jobs.is_new());
        std::thread::spawn({
            let job = jobs.take().unwrap();
            move || job.run()
        })
        .join()
        .unwrap();
        assert_eq!(poll(), Poll::Ready(7));
    }
}

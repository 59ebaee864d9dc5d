//! A thread that performs accesses while the program goes on. It starts with the first such access,
//! so programs that make none have no thread. It never enters the library: it moves bytes between
//! memory and file, and then wakes whoever may wait for that.

use oxmpi_base::signals;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

type Work = Box<dyn FnOnce() + Send>;

/// The thread; when this is dropped it ends, after all work that was posted.
pub struct Worker {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    posted: Condvar,
}

#[derive(Default)]
struct State {
    work: VecDeque<Work>,
    ended: bool,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next work; `None` when there will be none.
    fn next(&self) -> Option<Work> {
        let mut state = self.state();
        loop {
            if let Some(work) = state.work.pop_front() {
                return Some(work);
            }
            if state.ended {
                return None;
            }
            state = self.posted.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Worker {
    /// Starts the thread; `done` is called after each piece of work.
    pub fn start(done: impl Fn() + Send + 'static) -> io::Result<Worker> {
        let queue = Arc::new(Queue::default());
        let served = Arc::clone(&queue);
        let serve = move || {
            while let Some(work) = served.next() {
                work();
                done();
            }
        };
        let thread = signals::blocked(|| Builder::new().name("oxmpi-io".into()).spawn(serve))?;
        Ok(Worker { queue, thread: Some(thread) })
    }

    /// Work to be done after what was posted before.
    pub fn post(&self, work: impl FnOnce() + Send + 'static) {
        self.queue.state().work.push_back(Box::new(work));
        self.queue.posted.notify_one();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.queue.state().ended = true;
        self.queue.posted.notify_one();
        if let Some(thread) = self.thread.take() {
            // It has ended, or panicked, which the panic has reported.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn work_is_done_in_order_and_before_the_end() {
        let (done, seen) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let counter = Arc::clone(&done);
        let count = move || {
            counter.fetch_add(1, Ordering::Relaxed);
        };
        let worker = Worker::start(count).unwrap();
        for number in 0..100 {
            let seen = Arc::clone(&seen);
            worker.post(move || seen.lock().unwrap().push(number));
        }
        drop(worker);
        assert_eq!(*seen.lock().unwrap(), (0..100).collect::<Vec<_>>());
        assert_eq!(done.load(Ordering::Relaxed), 100);
    }
}

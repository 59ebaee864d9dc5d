//! Accesses to files that go on while the program does other things. Their system calls and copies
//! are jobs of a helper thread; their messages, if they are collective, move with all others.
//!
//! Buffered accesses of one file share its staging memory, so they take their turns, in the order in
//! which the program started them, which is the same on all ranks. `process/files.rs` drives them.

use crate::agreement::Agreement;
use crate::engine::Outcome;
use crate::jobs::Jobs;
use oxmpi_abi::handle;
use oxmpi_base::segment::{JobHeader, RankBlock};
use oxmpi_base::wait::{self, WakeFence};
use oxmpi_io::Worker;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

/// The outcome of an access, and the file whose error handler gets its error.
pub struct FileAccess {
    pub file: handle::File,
    pub end: OnceLock<Outcome>,
}

/// An access under way.
pub struct FileTask {
    pub agreement: Agreement<Outcome>,
    pub jobs: Jobs,
    pub access: Arc<FileAccess>,
    /// Whether it may use the staging memory of the file.
    pub buffered: bool,
}

#[derive(Default)]
pub(crate) struct FileTasks {
    /// Before the list, so that its last job has ended when the list, which has the memory of jobs, is
    /// dropped.
    worker: Option<Worker>,
    pub(crate) list: Vec<FileTask>,
}

impl FileTasks {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Tells the helper thread of a job, unless a thread that waits for it takes it first; without
    /// a helper, this thread does it, and the result is `true`.
    pub(crate) fn post(&mut self, jobs: Jobs, wake: Wake) -> bool {
        if self.worker.is_none() {
            // No thread can be had: this is as good as the system allows.
            self.worker = Worker::start(move || wake.wake()).ok();
        }
        let run = move || {
            if let Some(job) = jobs.take() {
                job.run();
            }
        };
        match &self.worker {
            Some(worker) => worker.post(run),
            None => run(),
        }
        self.worker.is_none()
    }
}

/// Wakes the threads of this rank that wait in the library.
pub(crate) struct Wake {
    pub(crate) job: NonNull<JobHeader>,
    pub(crate) block: NonNull<RankBlock>,
    pub(crate) fence: WakeFence,
}

#[expect(unsafe_code, reason = "pointers to words of the segment")]
// SAFETY: the pointers lead to atomics in the mapped segment.
unsafe impl Send for Wake {}

impl Wake {
    #[expect(unsafe_code, reason = "pointers to words of the segment")]
    fn wake(&self) {
        // SAFETY: the engine maps the segment as long as the process's state lives, and the state
        // drops the helper thread, which ends then, before the engine.
        unsafe { wait::wake(self.job.as_ref(), self.block.as_ref(), self.fence) }
    }
}

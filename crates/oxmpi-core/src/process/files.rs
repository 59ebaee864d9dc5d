//! Starting and driving accesses to files that go on in the background.

use super::Process;
use crate::file_tasks::{FileAccess, FileTask, Wake};
use crate::jobs::Job;
use oxmpi_abi::handle;
use std::ptr::NonNull;
use std::sync::Arc;

impl Process {
    /// Begins an access; returns what its request waits for.
    pub fn start_file_task(&mut self, task: FileTask) -> Arc<FileAccess> {
        let access = Arc::clone(&task.access);
        self.file_tasks.list.push(task);
        self.progress_file_tasks();
        access
    }

    /// Whether accesses of a file are under way that use its staging memory.
    pub fn has_buffered_tasks(&self, file: handle::File) -> bool {
        self.file_tasks.list.iter().any(|task| task.buffered && task.access.file == file)
    }

    /// Whether any access of a file is under way.
    pub fn has_file_tasks(&self, file: handle::File) -> bool {
        self.file_tasks.list.iter().any(|task| task.access.file == file)
    }

    /// A job of an access that no thread has begun: the caller, who has nothing better to do, runs
    /// it.
    pub fn take_file_job(&self, access: &Arc<FileAccess>) -> Option<Job> {
        self.file_tasks.list.iter().find(|task| Arc::ptr_eq(&task.access, access))?.jobs.take()
    }

    #[inline(never)]
    pub(crate) fn progress_file_tasks(&mut self) -> bool {
        let mut all = std::mem::take(&mut self.file_tasks.list);
        let (before, mut moved) = (all.len(), false);
        let mut in_turn: Vec<handle::File> = Vec::new();
        all.retain_mut(|task| {
            if task.buffered && in_turn.contains(&task.access.file) {
                return true;
            }
            let end = self.drive(&mut task.agreement);
            if task.jobs.is_new() {
                let wake = self.wake();
                moved |= self.file_tasks.post(task.jobs.clone(), wake);
            }
            match end {
                Some(outcome) => {
                    // Only this function sets it.
                    let _ = task.access.end.set(outcome);
                    false
                }
                None => {
                    if task.buffered {
                        in_turn.push(task.access.file);
                    }
                    true
                }
            }
        });
        moved |= all.len() < before;
        // No access has started in the meantime: that needs the state.
        self.file_tasks.list = all;
        moved
    }

    fn wake(&self) -> Wake {
        let node = self.engine.node();
        Wake { job: NonNull::from(node.job()), block: NonNull::from(node.block()), fence: node.barrier() }
    }
}

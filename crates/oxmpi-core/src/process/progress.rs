//! One step of everything that progresses by itself.

use super::Process;
use crate::check;

impl Process {
    /// Moves messages, and everything that waits for them. `true` when something may have
    /// completed.
    #[inline]
    pub fn progress(&mut self) -> bool {
        let mut moved = self.engine.progress();
        if moved && (check::is_on() | self.engine.has_news()) {
            self.see_what_moved();
        }
        if !self.serving_windows.is_empty() {
            moved |= self.serve_windows();
        }
        if self.pending_comms.is_empty()
            && self.runs.is_empty()
            && self.receiving.is_empty()
            && self.file_tasks.is_empty()
            && self.votes.is_empty()
        {
            return moved;
        }
        if !self.file_tasks.is_empty() {
            moved |= self.progress_file_tasks();
        }
        if !self.votes.is_empty() {
            moved |= self.progress_votes();
        }
        let mut advanced = !self.pending_comms.is_empty() && self.progress_pending_comms();
        advanced |= !self.runs.is_empty() && self.progress_runs();
        advanced |= !self.receiving.is_empty() && self.progress_partitioned();
        if advanced && check::is_on() {
            self.hash_results_of_requests();
        }
        advanced | moved
    }

    #[cold]
    fn see_what_moved(&mut self) {
        if self.engine.has_news() {
            self.handle_news();
        }
        if check::is_on() {
            self.compare_collectives();
            self.hash_results_of_requests();
        }
    }
}

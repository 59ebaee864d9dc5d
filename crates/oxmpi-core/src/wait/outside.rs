//! Waiting for something that is neither a message nor memory of another rank, such as bytes at a socket.

use crate::call::Call;
use crate::guard::Guard;

impl Call<'_> {
    /// Waits until `step`, which does what can be done, says that all is done. Messages move meanwhile. `pause` sleeps until
    /// more may be possible, though not for long, since nothing wakes it when messages come.
    pub fn wait_outside<R>(
        &self,
        guard: &mut Guard,
        mut step: impl FnMut() -> Option<R>,
        mut pause: impl FnMut(),
    ) -> R {
        loop {
            if let Some(result) = step() {
                return result;
            }
            self.progress(guard);
            guard.unlocked(|_| pause());
        }
    }
}

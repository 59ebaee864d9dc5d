//! Waiting for something that is neither a message nor memory of another rank, such as bytes at a socket.

use crate::call::{Call, Guard};

impl Call<'_> {
    /// Waits until `step`, which does what can be done, is finished. Messages move in the meantime.
    /// `pause` sleeps until more may be possible, but only for a short time, since messages do not
    /// wake it.
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

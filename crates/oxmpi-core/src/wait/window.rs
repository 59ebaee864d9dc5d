//! Waiting for what other ranks do to a window.

use crate::call::Call;
use crate::guard::Guard;
use oxmpi_abi::handle::Win;
use oxmpi_base::wait;
use oxmpi_rma::Window;

/// Looks at a peer's word before waiting in earnest. Few where another rank may need this CPU, or another thread the lock.
fn quick_looks(guard: &Guard) -> usize {
    if guard.is_shared() || wait::is_oversubscribed(guard.shared().job()) { 4 } else { 2000 }
}

impl Call<'_> {
    /// Waits until something is so in a window: in a tight loop for a moment, then as every call waits. A window that another
    /// thread has freed meanwhile is not waited for.
    pub fn wait_window(&self, guard: &mut Guard, win: Win, mut ready: impl FnMut(&mut Window) -> bool) {
        let looks = quick_looks(guard);
        if let Ok((window, node)) = guard.win_and_node(win) {
            for _ in 0..looks {
                if ready(window) {
                    return;
                }
                window.serve(Some(node));
                std::hint::spin_loop();
            }
        }
        self.wait(guard, |process| match process.win_mut(win) {
            Ok(found) => ready(&mut found.window).then_some(()),
            Err(_) => Some(()),
        });
    }
}

//! User-defined error handlers and their reference counts.
//!
//! A handler lives while the program holds a handle of it or an object has it attached. Nothing
//! here calls its function.

use crate::callback::ErrorFunction;
pub use crate::callback::Target;
use crate::checks::bad_handle;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::Errhandler as Handle;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_base::slots::{Kind, SlotTable};

/// All user-defined error handlers.
pub struct Errhandlers {
    table: SlotTable<Errhandler>,
}

struct Errhandler {
    function: ErrorFunction,
    /// Handles that the program was given and has not freed.
    handles: usize,
    /// Objects that it is attached to.
    attached: usize,
}

impl Errhandlers {
    pub const fn new() -> Errhandlers {
        Errhandlers { table: SlotTable::new(Kind::Errhandler) }
    }

    pub fn create(&mut self, function: ErrorFunction) -> Result<Handle> {
        match self.table.try_insert(Errhandler { function, handles: 1, attached: 0 }) {
            Ok(handle) => Ok(Handle(handle)),
            Err(_) => bail!(MPI_ERR_NO_SPACE, "no handles are left for error handlers"),
        }
    }

    /// Attaches a handler to an object; the caller [detaches](Errhandlers::detach) the previous
    /// one.
    pub fn attach(&mut self, handle: Handle, target: Target) -> Result<()> {
        if is_predefined(handle) {
            return Ok(());
        }
        let found = self.held(handle)?;
        if found.function.target() != target {
            let (theirs, ours) = (found.function.target().name(), target.name());
            bail!(MPI_ERR_ERRHANDLER, "the error handler was created for {theirs}, not for {ours}");
        }
        found.attached += 1;
        Ok(())
    }

    /// Attaches a handler to one more object: a communicator inherits its parent's handler.
    pub fn share(&mut self, handle: Handle) {
        if let Some(found) = self.table.get_mut(handle.0) {
            found.attached += 1;
        }
    }

    /// Detaches a handler from an object that has another one now, or was freed.
    pub fn detach(&mut self, handle: Handle) {
        if let Some(found) = self.table.get_mut(handle.0) {
            found.attached = found.attached.saturating_sub(1);
            self.drop_unused(handle);
        }
    }

    /// Gives the program one more handle of an object's handler.
    pub fn hand_out(&mut self, handle: Handle) {
        if let Some(found) = self.table.get_mut(handle.0) {
            found.handles += 1;
        }
    }

    /// Frees a handle. A predefined handler may be freed, too, since programs get it from objects.
    pub fn free(&mut self, handle: Handle) -> Result<()> {
        if !is_predefined(handle) {
            self.held(handle)?.handles -= 1;
            self.drop_unused(handle);
        }
        Ok(())
    }

    /// The user's function; `None` for other handlers.
    pub fn function(&self, handle: Handle) -> Option<ErrorFunction> {
        self.table.get(handle.0).map(|found| found.function.clone())
    }

    /// The handle whose low word this is.
    pub fn from_low_word(&self, low: i32) -> Option<usize> {
        self.table.from_low_word(low)
    }

    /// A handler of which the program holds a handle.
    fn held(&mut self, handle: Handle) -> Result<&mut Errhandler> {
        if self.table.get(handle.0).is_none_or(|found| found.handles == 0) {
            return Err(self.bad(handle));
        }
        self.table.get_mut(handle.0).ok_or_else(|| unreachable!("just found"))
    }

    #[cold]
    fn bad(&self, handle: Handle) -> Error {
        if self.table.contains(handle.0) {
            return Error::new(MPI_ERR_ERRHANDLER, format!("the error handler {:#x} has been freed", handle.0));
        }
        let (null, name) = (MPI_ERRHANDLER_NULL.0, "MPI_ERRHANDLER_NULL");
        bad_handle(&self.table, MPI_ERR_ERRHANDLER, handle.0, "error handler", null, name)
    }

    fn drop_unused(&mut self, handle: Handle) {
        if self.table.get(handle.0).is_some_and(|found| found.handles == 0 && found.attached == 0) {
            self.table.remove(handle.0);
        }
    }
}

impl Default for Errhandlers {
    fn default() -> Errhandlers {
        Errhandlers::new()
    }
}

fn is_predefined(handle: Handle) -> bool {
    [MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT, MPI_ERRORS_RETURN].contains(&handle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::callback::Callback;

    fn class<T>(result: Result<T>) -> i32 {
        result.err().map_or(MPI_SUCCESS, |error| error.class())
    }

    #[test]
    fn a_handler_lives_while_it_is_held_or_attached() {
        let mut all = Errhandlers::new();
        let handle = all.create(ErrorFunction::Comm(Callback::none())).unwrap();
        all.attach(handle, Target::Comm).unwrap();
        all.free(handle).unwrap();
        assert!(matches!(all.function(handle), Some(ErrorFunction::Comm(_))));
        assert_eq!(class(all.free(handle)), MPI_ERR_ERRHANDLER);
        assert_eq!(class(all.attach(handle, Target::Comm)), MPI_ERR_ERRHANDLER);
        all.hand_out(handle);
        all.share(handle);
        all.detach(handle);
        all.detach(handle);
        assert!(matches!(all.function(handle), Some(ErrorFunction::Comm(_))));
        all.free(handle).unwrap();
        assert!(all.function(handle).is_none());
        assert!(all.free(handle).unwrap_err().text().contains("freed"));
        assert!(all.table.is_empty());
    }

    #[test]
    fn predefined_handlers_fit_everywhere_and_are_never_used_up() {
        let mut all = Errhandlers::new();
        for handle in [MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT, MPI_ERRORS_RETURN] {
            for target in [Target::Comm, Target::Win, Target::File, Target::Session] {
                all.attach(handle, target).unwrap();
            }
            all.free(handle).unwrap();
            all.free(handle).unwrap();
            all.detach(handle);
            assert!(all.function(handle).is_none());
        }
        for wrong in [MPI_ERRHANDLER_NULL, Handle(0), Handle(MPI_COMM_WORLD.0), Handle(usize::MAX)] {
            assert_eq!(class(all.attach(wrong, Target::Comm)), MPI_ERR_ERRHANDLER);
            assert_eq!(class(all.free(wrong)), MPI_ERR_ERRHANDLER);
        }
    }

    #[test]
    fn a_handler_is_for_one_kind_of_object() {
        let mut all = Errhandlers::new();
        let handle = all.create(ErrorFunction::File(Callback::none())).unwrap();
        for target in [Target::Comm, Target::Win, Target::Session] {
            assert!(all.attach(handle, target).unwrap_err().text().contains("for files"));
        }
        all.attach(handle, Target::File).unwrap();
    }
}

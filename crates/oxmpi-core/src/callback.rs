//! C functions that the program passes to MPI. A [`Callback`] is the proof that a function may be
//! called. Making one is unsafe and happens in the entry point that gets the function, where the
//! standard says how it will be called; calling it is safe. Callers must hold no lock
//! ([`Guard::call_user`](crate::call::Guard::call_user)).
#![expect(unsafe_code, reason = "the one place that calls a program's functions, those of reductions and tools aside")]

use oxmpi_abi::Status;
use oxmpi_abi::callbacks::*;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm, Datatype, File, Session, Win};
use oxmpi_ops::Operands;
use std::ffi::{c_int, c_void};
use std::ptr::with_exposed_provenance_mut;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A function of the type `F`, which is an `Option`: null stands for no function, or for a predefined one.
#[derive(Clone, Copy, Debug)]
pub struct Callback<F> {
    function: F,
}

impl<F: Copy> Callback<F> {
    /// # Safety
    /// The function is null, predefined, or does what the standard requires of a function of this
    /// type, for as long as the object lives that it is passed for.
    pub unsafe fn new(function: F) -> Callback<F> {
        Callback { function }
    }
}

impl<F> Callback<Option<F>> {
    pub fn is_none(&self) -> bool {
        self.function.is_none()
    }

    /// No function.
    pub const fn none() -> Callback<Option<F>> {
        Callback { function: None }
    }
}

// ---- functions with an extra state ----

/// The extra state of a function of the program. It is unused once the last user of the function is gone; then the program's
/// destructor gets it.
#[derive(Debug)]
pub struct ExtraState {
    state: usize,
    destructor: Callback<DestructorFn>,
}

/// States that nothing uses any more; their destructors have not been called.
static UNUSED: Mutex<Vec<Unused>> = Mutex::new(Vec::new());

/// A state whose destructor is to be called.
pub struct Unused {
    state: usize,
    destructor: Callback<DestructorFn>,
}

impl ExtraState {
    pub fn new(state: usize, destructor: Callback<DestructorFn>) -> ExtraState {
        ExtraState { state, destructor }
    }

    fn pointer(&self) -> *mut c_void {
        with_exposed_provenance_mut(self.state)
    }
}

impl Drop for ExtraState {
    /// Whoever was the last user may hold a lock, so the destructor waits.
    fn drop(&mut self) {
        if !self.destructor.is_none() {
            unused().push(Unused { state: self.state, destructor: self.destructor });
        }
    }
}

fn unused() -> MutexGuard<'static, Vec<Unused>> {
    UNUSED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The states that have come to their end since the last call of this.
pub fn take_unused() -> Vec<Unused> {
    std::mem::take(&mut *unused())
}

impl Unused {
    /// Calls the destructor. The caller holds no lock.
    pub fn destroy(self) {
        if let Some(function) = self.destructor.function {
            // SAFETY: a destructor gets the program's own pointer, once.
            unsafe { function(with_exposed_provenance_mut(self.state)) };
        }
    }
}

impl Callback<UserFnX> {
    /// Computes `inout = left op inout`.
    ///
    /// # Safety
    /// As for [`Reduce::reduce`](crate::operation::Reduce::reduce).
    pub unsafe fn call(self, operands: &Operands, datatype: Datatype, state: &ExtraState) {
        let (left, inout) = (operands.left.cast_mut().cast(), operands.inout.cast());
        if let Some(function) = self.function {
            // SAFETY: a reduction gets valid operands, by this function's condition, and the program's own pointer.
            unsafe { function(left, inout, operands.count as i64, datatype, state.pointer()) };
        }
    }
}

// ---- generalized requests ----

impl Callback<GrequestQueryFn> {
    pub fn call(self, extra_state: usize, status: &mut Status) -> c_int {
        let extra_state = with_exposed_provenance_mut(extra_state);
        // SAFETY: a query function gets the program's own pointer and a status.
        self.function.map_or(MPI_SUCCESS, |query| unsafe { query(extra_state, status) })
    }
}

impl Callback<GrequestFreeFn> {
    pub fn call(self, extra_state: usize) -> c_int {
        // SAFETY: a free function gets the program's own pointer.
        self.function.map_or(MPI_SUCCESS, |free| unsafe { free(with_exposed_provenance_mut(extra_state)) })
    }
}

impl Callback<GrequestCancelFn> {
    pub fn call(self, extra_state: usize, complete: bool) -> c_int {
        let extra_state = with_exposed_provenance_mut(extra_state);
        // SAFETY: a cancel function gets the program's own pointer and an integer.
        self.function.map_or(MPI_SUCCESS, |cancel| unsafe { cancel(extra_state, complete.into()) })
    }
}

// ---- error handlers ----

/// The kind of object that a handler is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    Comm,
    Win,
    File,
    Session,
}

impl Target {
    pub fn name(self) -> &'static str {
        match self {
            Target::Comm => "communicators",
            Target::Win => "windows",
            Target::File => "files",
            Target::Session => "sessions",
        }
    }
}

/// An error handling function, by the kind of object that it is for. The second four have an extra state.
#[derive(Clone, Debug)]
pub enum ErrorFunction {
    Comm(Callback<CommErrhandlerFn>),
    Win(Callback<WinErrhandlerFn>),
    File(Callback<FileErrhandlerFn>),
    Session(Callback<SessionErrhandlerFn>),
    CommX(Callback<CommErrhandlerFnX>, Arc<ExtraState>),
    WinX(Callback<WinErrhandlerFnX>, Arc<ExtraState>),
    FileX(Callback<FileErrhandlerFnX>, Arc<ExtraState>),
    SessionX(Callback<SessionErrhandlerFnX>, Arc<ExtraState>),
}

impl ErrorFunction {
    /// The kind of object that it is for.
    pub fn target(&self) -> Target {
        match self {
            ErrorFunction::Comm(_) | ErrorFunction::CommX(..) => Target::Comm,
            ErrorFunction::Win(_) | ErrorFunction::WinX(..) => Target::Win,
            ErrorFunction::File(_) | ErrorFunction::FileX(..) => Target::File,
            ErrorFunction::Session(_) | ErrorFunction::SessionX(..) => Target::Session,
        }
    }

    pub fn is_null(&self) -> bool {
        match self {
            ErrorFunction::Comm(callback) => callback.is_none(),
            ErrorFunction::Win(callback) => callback.is_none(),
            ErrorFunction::File(callback) => callback.is_none(),
            ErrorFunction::Session(callback) => callback.is_none(),
            ErrorFunction::CommX(callback, _) => callback.is_none(),
            ErrorFunction::WinX(callback, _) => callback.is_none(),
            ErrorFunction::FileX(callback, _) => callback.is_none(),
            ErrorFunction::SessionX(callback, _) => callback.is_none(),
        }
    }

    /// Calls it for an object and a code; returns the code that it leaves.
    pub fn call(self, object: usize, mut code: c_int) -> c_int {
        macro_rules! call {
            ($callback:ident, $handle:ident) => {
                if let Some(function) = $callback.function {
                    // SAFETY: an error handling function gets a handle of its kind and a code.
                    unsafe { function(&mut $handle(object), &mut code) };
                }
            };
        }
        macro_rules! call_with_state {
            ($callback:ident, $handle:ident, $state:ident) => {
                if let Some(function) = $callback.function {
                    // SAFETY: such a function gets a handle of its kind, a code, and the program's own pointer.
                    unsafe { function($handle(object), code, $state.pointer()) };
                }
            };
        }
        match &self {
            ErrorFunction::Comm(callback) => call!(callback, Comm),
            ErrorFunction::Win(callback) => call!(callback, Win),
            ErrorFunction::File(callback) => call!(callback, File),
            ErrorFunction::Session(callback) => call!(callback, Session),
            ErrorFunction::CommX(callback, state) => call_with_state!(callback, Comm, state),
            ErrorFunction::WinX(callback, state) => call_with_state!(callback, Win, state),
            ErrorFunction::FileX(callback, state) => call_with_state!(callback, File, state),
            ErrorFunction::SessionX(callback, state) => call_with_state!(callback, Session, state),
        }
        code
    }
}

// ---- attributes ----

/// The functions of an attribute key, by the kind of object that it is for.
#[derive(Clone, Copy, Debug)]
pub enum AttributeFunctions {
    Comm(Callback<CommCopyAttrFn>, Callback<CommDeleteAttrFn>),
    Type(Callback<TypeCopyAttrFn>, Callback<TypeDeleteAttrFn>),
    Win(Callback<WinCopyAttrFn>, Callback<WinDeleteAttrFn>),
}

/// What happens to an attribute when its object is duplicated.
#[derive(Debug, PartialEq, Eq)]
pub enum Copied {
    /// The duplicate has none.
    Dropped,
    /// The duplicate has the same.
    Same,
    /// The program's function gave another value.
    Value(usize),
    /// The program's function refused with a code.
    Refused(c_int),
}

// The predefined functions have the same values for each kind of object.
const DUP: usize = MPI_COMM_DUP_FN;
const _: () = assert!(MPI_COMM_NULL_COPY_FN == 0 && MPI_TYPE_NULL_COPY_FN == 0 && MPI_WIN_NULL_COPY_FN == 0);
const _: () = assert!(DUP == MPI_TYPE_DUP_FN && DUP == MPI_WIN_DUP_FN);
const _: () = assert!(MPI_COMM_NULL_DELETE_FN == 0 && MPI_TYPE_NULL_DELETE_FN == 0 && MPI_WIN_NULL_DELETE_FN == 0);

impl AttributeFunctions {
    /// What a predefined copy function does; `None` for a user function.
    pub fn predefined_copy(self) -> Option<Copied> {
        let function = match self {
            AttributeFunctions::Comm(callback, _) => callback.function.map_or(0, |function| function as usize),
            AttributeFunctions::Type(callback, _) => callback.function.map_or(0, |function| function as usize),
            AttributeFunctions::Win(callback, _) => callback.function.map_or(0, |function| function as usize),
        };
        match function {
            0 => Some(Copied::Dropped),
            DUP => Some(Copied::Same),
            _ => None,
        }
    }

    /// Whether there is a delete function.
    pub fn has_delete(self) -> bool {
        match self {
            AttributeFunctions::Comm(_, callback) => callback.function.is_some(),
            AttributeFunctions::Type(_, callback) => callback.function.is_some(),
            AttributeFunctions::Win(_, callback) => callback.function.is_some(),
        }
    }

    /// Copies an attribute of an object that is duplicated.
    pub fn copy(self, object: usize, key: c_int, extra_state: usize, value: usize) -> Copied {
        macro_rules! copy {
            ($callback:ident, $handle:ident) => {
                match $callback.function {
                    None => Copied::Dropped,
                    Some(function) if function as usize == DUP => Copied::Same,
                    Some(function) => {
                        let (mut copied, mut flag) = (0usize, 0);
                        let (extra_state, value) =
                            (with_exposed_provenance_mut(extra_state), with_exposed_provenance_mut(value));
                        let place = (&raw mut copied).cast::<c_void>();
                        // SAFETY: a copy function gets a handle of its kind, the key, two pointers of the program's own, the
                        // place of a pointer and that of a flag.
                        match unsafe { function($handle(object), key, extra_state, value, place, &mut flag) } {
                            MPI_SUCCESS if flag == 0 => Copied::Dropped,
                            MPI_SUCCESS => Copied::Value(copied),
                            code => Copied::Refused(code),
                        }
                    }
                }
            };
        }
        match self {
            AttributeFunctions::Comm(callback, _) => copy!(callback, Comm),
            AttributeFunctions::Type(callback, _) => copy!(callback, Datatype),
            AttributeFunctions::Win(callback, _) => copy!(callback, Win),
        }
    }

    /// Deletes an attribute; returns the code of the user function.
    pub fn delete(self, object: usize, key: c_int, value: usize, extra_state: usize) -> c_int {
        let (value, extra_state) = (with_exposed_provenance_mut(value), with_exposed_provenance_mut(extra_state));
        macro_rules! delete {
            ($callback:ident, $handle:ident) => {
                match $callback.function {
                    None => MPI_SUCCESS,
                    // SAFETY: a delete function gets a handle of its kind, the key and two pointers of the program's own.
                    Some(function) => unsafe { function($handle(object), key, value, extra_state) },
                }
            };
        }
        match self {
            AttributeFunctions::Comm(_, callback) => delete!(callback, Comm),
            AttributeFunctions::Type(_, callback) => delete!(callback, Datatype),
            AttributeFunctions::Win(_, callback) => delete!(callback, Win),
        }
    }
}

// ---- data representations ----

impl Callback<DatarepExtentFn> {
    pub fn is_null(self) -> bool {
        self.function.is_none()
    }

    /// Asks for the length of a predefined type in a file; returns the length and the code.
    pub fn call(self, datatype: Datatype, extra_state: usize) -> (i64, c_int) {
        let mut length = 0;
        // SAFETY: an extent function gets a datatype, the place of an address and the program's own pointer.
        let code = self.function.map_or(MPI_SUCCESS, |extent| unsafe {
            extent(datatype, &mut length, with_exposed_provenance_mut(extra_state))
        });
        (length, code)
    }
}

/// A conversion function, by the type of its count.
#[derive(Clone, Copy, Debug)]
pub enum ConversionFunction {
    Int(Callback<DatarepConversionFn>),
    Count(Callback<DatarepConversionFnC>),
}

impl ConversionFunction {
    pub fn is_null(self) -> bool {
        match self {
            ConversionFunction::Int(callback) => callback.function.is_none(),
            ConversionFunction::Count(callback) => callback.function.is_none(),
        }
    }

    /// The largest count that it can take.
    pub fn most(self) -> u64 {
        match self {
            ConversionFunction::Int(_) => c_int::MAX as u64,
            ConversionFunction::Count(_) => i64::MAX as u64,
        }
    }

    /// Converts `count` entries, at most [`ConversionFunction::most`], between memory and a stage.
    ///
    /// # Safety
    /// Both are as large as the entries, from `position` on, need.
    pub unsafe fn call(
        self,
        memory: *mut u8,
        datatype: Datatype,
        count: u64,
        stage: *mut u8,
        position: i64,
        extra_state: usize,
    ) -> c_int {
        let (memory, stage) = (memory.cast(), stage.cast());
        let extra_state = with_exposed_provenance_mut(extra_state);
        // SAFETY: a conversion function gets memory and a stage that are large enough, which is this function's condition, and
        // the program's own pointer.
        unsafe {
            match self {
                ConversionFunction::Int(callback) => callback.function.map_or(MPI_SUCCESS, |convert| {
                    convert(memory, datatype, count as c_int, stage, position, extra_state)
                }),
                ConversionFunction::Count(callback) => callback.function.map_or(MPI_SUCCESS, |convert| {
                    convert(memory, datatype, count as i64, stage, position, extra_state)
                }),
            }
        }
    }
}

//! The handles of the C interface, one type for each kind. A handle is a number of the size of a
//! pointer; zero is never a handle. The values below 4096 are the standard's predefined ones; the
//! code that makes the others defines their content.

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub usize);

        impl Handle for $name {
            #[inline]
            fn from_raw(raw: usize) -> $name {
                $name(raw)
            }

            #[inline]
            fn raw(self) -> usize {
                self.0
            }
        }
    )*};
}

/// The number of a handle.
pub trait Handle: Copy + Eq {
    fn from_raw(raw: usize) -> Self;
    fn raw(self) -> usize;
}

handles! {
    /// `MPI_Comm`
    Comm
    /// `MPI_Datatype`
    Datatype
    /// `MPI_Errhandler`
    Errhandler
    /// `MPI_File`
    File
    /// `MPI_Group`
    Group
    /// `MPI_Info`
    Info
    /// `MPI_Message`
    Message
    /// `MPI_Op`
    Op
    /// `MPI_Request`
    Request
    /// `MPI_Session`
    Session
    /// `MPI_Win`
    Win
    /// `MPI_T_enum`
    TEnum
    /// `MPI_T_cvar_handle`
    TCvarHandle
    /// `MPI_T_pvar_handle`
    TPvarHandle
    /// `MPI_T_pvar_session`
    TPvarSession
    /// `MPI_T_event_registration`
    TEventRegistration
    /// `MPI_T_event_instance`
    TEventInstance
}

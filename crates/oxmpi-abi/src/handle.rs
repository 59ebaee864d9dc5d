//! The handles of the C interface, a type a kind. A handle is a number the size of a pointer; zero is never one.
//! The values below 4096 are the standard's predefined ones; what the others hold is the business of those who make
//! them.

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

/// What all handles can do: be taken for the number that they are.
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

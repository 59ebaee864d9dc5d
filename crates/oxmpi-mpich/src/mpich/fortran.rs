//! Handles of Fortran. A handle of MPICH is the same integer in C and in Fortran, except a file's. The
//! predefined integers of other ABIs become MPICH's; newer headers of MPICH call these functions, older
//! ones take the integer as it is.

use super::handles::FIRST_DYNAMIC;
use crate::entry::*;

macro_rules! handles {
    ($($handle:ident $private:ident: $($to:ident $pto:ident $from:ident $pfrom:ident),*;)*) => {$($(
        entry! {
            $to $pto(handle: c_int) -> c_int {
                handle
            }
        }

        entry! {
            $from $pfrom(integer: c_int) -> c_int {
                let ours: $handle = c::$private(integer);
                if is_unknown(ours.0) { integer } else { $handle::theirs(ours) }
            }
        }
    )*)*};
}

/// Whether OxMPI has no object for an integer: then it is the low word of what it returns.
fn is_unknown(ours: usize) -> bool {
    (FIRST_DYNAMIC..=u32::MAX as usize).contains(&ours)
}

handles! {
    Comm oxmpi_Comm_f2c:
        MPI_Comm_c2f PMPI_Comm_c2f MPI_Comm_f2c PMPI_Comm_f2c,
        MPI_Comm_toint PMPI_Comm_toint MPI_Comm_fromint PMPI_Comm_fromint;
    Errhandler oxmpi_Errhandler_f2c:
        MPI_Errhandler_c2f PMPI_Errhandler_c2f MPI_Errhandler_f2c PMPI_Errhandler_f2c,
        MPI_Errhandler_toint PMPI_Errhandler_toint MPI_Errhandler_fromint PMPI_Errhandler_fromint;
    Group oxmpi_Group_f2c:
        MPI_Group_c2f PMPI_Group_c2f MPI_Group_f2c PMPI_Group_f2c,
        MPI_Group_toint PMPI_Group_toint MPI_Group_fromint PMPI_Group_fromint;
    Info oxmpi_Info_f2c:
        MPI_Info_c2f PMPI_Info_c2f MPI_Info_f2c PMPI_Info_f2c,
        MPI_Info_toint PMPI_Info_toint MPI_Info_fromint PMPI_Info_fromint;
    Message oxmpi_Message_f2c:
        MPI_Message_c2f PMPI_Message_c2f MPI_Message_f2c PMPI_Message_f2c,
        MPI_Message_toint PMPI_Message_toint MPI_Message_fromint PMPI_Message_fromint;
    Op oxmpi_Op_f2c:
        MPI_Op_c2f PMPI_Op_c2f MPI_Op_f2c PMPI_Op_f2c,
        MPI_Op_toint PMPI_Op_toint MPI_Op_fromint PMPI_Op_fromint;
    Request oxmpi_Request_f2c:
        MPI_Request_c2f PMPI_Request_c2f MPI_Request_f2c PMPI_Request_f2c,
        MPI_Request_toint PMPI_Request_toint MPI_Request_fromint PMPI_Request_fromint;
    Session oxmpi_Session_f2c:
        MPI_Session_c2f PMPI_Session_c2f MPI_Session_f2c PMPI_Session_f2c,
        MPI_Session_toint PMPI_Session_toint MPI_Session_fromint PMPI_Session_fromint;
    Datatype oxmpi_Type_f2c:
        MPI_Type_c2f PMPI_Type_c2f MPI_Type_f2c PMPI_Type_f2c,
        MPI_Type_toint PMPI_Type_toint MPI_Type_fromint PMPI_Type_fromint;
    Win oxmpi_Win_f2c:
        MPI_Win_c2f PMPI_Win_c2f MPI_Win_f2c PMPI_Win_f2c,
        MPI_Win_toint PMPI_Win_toint MPI_Win_fromint PMPI_Win_fromint;
}

macro_rules! files {
    ($($to:ident $pto:ident $from:ident $pfrom:ident)*) => {$(
        entry! {
            $to $pto(file: usize) -> c_int {
                if file == 0 { 0 } else { c::oxmpi_File_toint(File::ours(file)) }
            }
        }

        entry! {
            $from $pfrom(integer: c_int) -> usize {
                if integer == 0 { 0 } else { File::theirs(c::oxmpi_File_fromint(integer)) }
            }
        }
    )*};
}

files! {
    MPI_File_c2f PMPI_File_c2f MPI_File_f2c PMPI_File_f2c
    MPI_File_toint PMPI_File_toint MPI_File_fromint PMPI_File_fromint
}

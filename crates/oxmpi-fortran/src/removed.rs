//! Procedures that MPI-3 removed and old programs call. Their addresses and displacements are
//! INTEGERs, which cannot hold an address of a 64-bit machine: what does not fit is an error that
//! names the replacement.

use crate::addresses;
use crate::entry::*;

// An address that can be used in differences, and in a datatype that is used with MPI_BOTTOM.
entry! {
    [mpi_address_ pmpi_address_] MPI_Get_address PMPI_Get_address
    (location: *mut c_void, address: *mut Fint, ierror: *mut Fint) |call| {
        let mut absolute = 0;
        let mut code = call(location, &mut absolute);
        if code == MPI_SUCCESS {
            let number = addresses::number(absolute);
            *address = number.unwrap_or(wide(MPI_UNDEFINED));
            if number.is_none() {
                let text = format!(
                    "MPI_ADDRESS: {absolute:#x} is too far from other variables to fit an INTEGER; use MPI_GET_ADDRESS \
                     and an INTEGER(KIND=MPI_ADDRESS_KIND)"
                );
                code = fail(MPI_ERR_ARG, &text);
            }
        }
        set(ierror, code);
    }
}

/// Stores an extent if it fits an INTEGER.
unsafe fn put_narrow(place: *mut Fint, value: i64, name: &str, instead: &str) -> c_int {
    match addresses::integer(value) {
        Some(value) => {
            // SAFETY: the caller passes a variable that may be written.
            unsafe { *place = value };
            MPI_SUCCESS
        }
        None => {
            // SAFETY: the caller passes a variable that may be written.
            unsafe { *place = wide(MPI_UNDEFINED) };
            fail(MPI_ERR_ARG, &format!("{name}: {value} does not fit an INTEGER; {instead}"))
        }
    }
}

const INSTEAD_OF_EXTENT: &str = "use MPI_TYPE_GET_EXTENT";

entry! {
    [mpi_type_extent_ pmpi_type_extent_] MPI_Type_get_extent PMPI_Type_get_extent
    (datatype: *mut Fint, extent: *mut Fint, ierror: *mut Fint) |call| {
        let (mut lb, mut value) = (0, 0);
        let mut code = call(get(datatype), &mut lb, &mut value);
        if code == MPI_SUCCESS {
            code = put_narrow(extent, value, "MPI_TYPE_EXTENT", INSTEAD_OF_EXTENT);
        }
        set(ierror, code);
    }
}

entry! {
    [mpi_type_lb_ pmpi_type_lb_] MPI_Type_get_extent PMPI_Type_get_extent
    (datatype: *mut Fint, displacement: *mut Fint, ierror: *mut Fint) |call| {
        let (mut lb, mut extent) = (0, 0);
        let mut code = call(get(datatype), &mut lb, &mut extent);
        if code == MPI_SUCCESS {
            code = put_narrow(displacement, lb, "MPI_TYPE_LB", INSTEAD_OF_EXTENT);
        }
        set(ierror, code);
    }
}

entry! {
    [mpi_type_ub_ pmpi_type_ub_] MPI_Type_get_extent PMPI_Type_get_extent
    (datatype: *mut Fint, displacement: *mut Fint, ierror: *mut Fint) |call| {
        let (mut lb, mut extent) = (0, 0);
        let mut code = call(get(datatype), &mut lb, &mut extent);
        if code == MPI_SUCCESS {
            code = put_narrow(displacement, lb.wrapping_add(extent), "MPI_TYPE_UB", INSTEAD_OF_EXTENT);
        }
        set(ierror, code);
    }
}

entry! {
    [mpi_type_hvector_ pmpi_type_hvector_] MPI_Type_create_hvector PMPI_Type_create_hvector
    (
        count: *mut Fint,
        blocklength: *mut Fint,
        stride: *mut Fint,
        oldtype: *mut Fint,
        newtype: *mut Fint,
        ierror: *mut Fint
    ) |call| {
        let mut made = Datatype(0);
        let count = narrow!(count, MPI_ERR_COUNT, "MPI_TYPE_HVECTOR", MPI_COMM_SELF, ierror);
        let blocklength = narrow!(blocklength, MPI_ERR_ARG, "MPI_TYPE_HVECTOR", MPI_COMM_SELF, ierror);
        let code = call(count, blocklength, addresses::long(*stride), get(oldtype), &mut made);
        put(newtype, made);
        set(ierror, code);
    }
}

entry! {
    [mpi_type_hindexed_ pmpi_type_hindexed_] MPI_Type_create_hindexed PMPI_Type_create_hindexed
    (
        count: *mut Fint,
        lengths: *mut Fint,
        displacements: *mut Fint,
        oldtype: *mut Fint,
        newtype: *mut Fint,
        ierror: *mut Fint
    ) |call| {
        let mut displacements = widened(displacements, positive(*count));
        let mut made = Datatype(0);
        let number = narrow!(count, MPI_ERR_COUNT, "MPI_TYPE_HINDEXED", MPI_COMM_SELF, ierror);
        let mut lengths =
            narrowed!(lengths, positive(*count), MPI_ERR_ARG, "MPI_TYPE_HINDEXED", MPI_COMM_SELF, ierror);
        let code = call(number, lengths.as_mut_ptr(), displacements.as_mut_ptr(), get(oldtype), &mut made);
        put(newtype, made);
        set(ierror, code);
    }
}

entry! {
    [mpi_type_struct_ pmpi_type_struct_] MPI_Type_create_struct PMPI_Type_create_struct
    (
        count: *mut Fint,
        lengths: *mut Fint,
        displacements: *mut Fint,
        types: *mut Fint,
        newtype: *mut Fint,
        ierror: *mut Fint
    ) |call| {
        let mut displacements = widened(displacements, positive(*count));
        let mut types = Few::<Datatype>::get(types, positive(*count));
        let mut made = Datatype(0);
        let number = narrow!(count, MPI_ERR_COUNT, "MPI_TYPE_STRUCT", MPI_COMM_SELF, ierror);
        let mut lengths = narrowed!(lengths, positive(*count), MPI_ERR_ARG, "MPI_TYPE_STRUCT", MPI_COMM_SELF, ierror);
        let code = call(number, lengths.as_mut_ptr(), displacements.as_mut_ptr(), types.as_mut_ptr(), &mut made);
        put(newtype, made);
        set(ierror, code);
    }
}

unsafe fn widened(displacements: *mut Fint, count: usize) -> Vec<i64> {
    // SAFETY: the array of the program has `count` elements.
    (0..count).map(|i| addresses::displacement(unsafe { *displacements.add(i) })).collect()
}

entry! {
    [mpi_errhandler_set_ pmpi_errhandler_set_] MPI_Comm_set_errhandler PMPI_Comm_set_errhandler
    (comm: *mut Fint, errhandler: *mut Fint, ierror: *mut Fint) |call| {
        set(ierror, call(get(comm), get(errhandler)));
    }
}

entry! {
    [mpi_errhandler_get_ pmpi_errhandler_get_] MPI_Comm_get_errhandler PMPI_Comm_get_errhandler
    (comm: *mut Fint, errhandler: *mut Fint, ierror: *mut Fint) |call| {
        let mut found = Errhandler(0);
        let code = call(get(comm), &mut found);
        put(errhandler, found);
        set(ierror, code);
    }
}

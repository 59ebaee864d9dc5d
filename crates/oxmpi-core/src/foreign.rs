//! Handles of other MPI implementations, recognised by their values: a program that was compiled
//! with another `mpi.h` passes them.

/// What an invalid handle probably is, as an addition to an error text; empty when it is unknown.
pub fn hint(handle: usize) -> String {
    // MPICH stores the kind of object in the bits from 26 on, and sets bit 30 for predefined
    // objects.
    let theirs = match handle {
        0x4400_0000 => Some("MPI_COMM_WORLD"),
        0x4400_0001 => Some("MPI_COMM_SELF"),
        0x0400_0000 => Some("MPI_COMM_NULL"),
        0x4c00_0000..=0x4c00_ffff => Some("handle of a datatype"),
        0x5800_0000..=0x5800_00ff => Some("handle of an operation"),
        0x2c00_0000 => Some("MPI_REQUEST_NULL"),
        _ => None,
    };
    if let Some(name) = theirs {
        return format!(" (it is MPICH's {name}: was the program compiled with the mpi.h of MPICH?)");
    }
    // Programs and libraries lie in the upper part of the 47-bit address space.
    if (0x1000 << 32..1 << 47).contains(&handle) {
        return " (it looks like an address, as handles of Open MPI are: was the program compiled with the mpi.h of Open \
                MPI?)"
            .into();
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_of_other_mpis() {
        assert!(hint(0x4400_0000).contains("MPICH's MPI_COMM_WORLD"));
        assert!(hint(0x4c00_0405).contains("datatype"));
        assert!(hint(&raw const *"text" as *const u8 as usize).contains("Open MPI"));
        for handle in [1, 0x101, 0x1234, 0xffff_ffff, 3 << 32 | 1 << 30, usize::MAX] {
            assert_eq!(hint(handle), "");
        }
    }
}

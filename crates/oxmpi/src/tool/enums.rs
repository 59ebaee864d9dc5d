//! Enumerations: names for the values of a variable, or for the elements of an event.

use super::answer::{Answer, INVALID_HANDLE};
use oxmpi_abi::constants::*;
use oxmpi_abi::functions::ALL;
use oxmpi_abi::handle::TEnum;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Enumeration {
    Switch,
    Errhandler,
    Board,
    /// The functions of MPI by number, and "no function".
    Call,
    ErrorElements,
    SleepElements,
}

const ENUMERATIONS: [Enumeration; 6] = [
    Enumeration::Switch,
    Enumeration::Errhandler,
    Enumeration::Board,
    Enumeration::Call,
    Enumeration::ErrorElements,
    Enumeration::SleepElements,
];

/// The value of [`Enumeration::Call`] between calls.
pub const NO_CALL: i32 = -1;

/// The high word of the handles; the low word is an index in the list.
const MARK: usize = 0x656e_756d << 32;

impl Enumeration {
    pub fn handle(self) -> TEnum {
        TEnum(MARK | self as usize)
    }

    pub fn from_handle(handle: TEnum) -> Answer<Enumeration> {
        ENUMERATIONS.get(handle.0 ^ MARK).copied().ok_or(INVALID_HANDLE)
    }

    pub fn name(self) -> &'static str {
        match self {
            Enumeration::Switch => "oxmpi_switch",
            Enumeration::Errhandler => "oxmpi_errhandler",
            Enumeration::Board => "oxmpi_board",
            Enumeration::Call => "oxmpi_call",
            Enumeration::ErrorElements => "oxmpi_error_elements",
            Enumeration::SleepElements => "oxmpi_sleep_elements",
        }
    }

    pub fn items(self) -> usize {
        match self {
            Enumeration::Call => ALL.len() + 1,
            other => other.list().len(),
        }
    }

    /// The value and the name of an item.
    pub fn item(self, index: usize) -> Option<(i32, &'static str)> {
        match (self, index) {
            (Enumeration::Call, 0) => Some((NO_CALL, "none")),
            (Enumeration::Call, index) => ALL.get(index - 1).map(|fun| (*fun as i32, fun.name())),
            (other, index) => other.list().get(index).copied(),
        }
    }

    fn list(self) -> &'static [(i32, &'static str)] {
        match self {
            Enumeration::Switch => &[(0, "off"), (1, "on")],
            Enumeration::Errhandler => &[
                (MPI_ERRORS_ARE_FATAL.0 as i32, "mpi_errors_are_fatal"),
                (MPI_ERRORS_ABORT.0 as i32, "mpi_errors_abort"),
                (MPI_ERRORS_RETURN.0 as i32, "mpi_errors_return"),
            ],
            Enumeration::Board => &[(0, "none yet"), (1, "shared"), (2, "refused")],
            Enumeration::Call => &[],
            Enumeration::ErrorElements => &[(0, "class"), (1, "call")],
            Enumeration::SleepElements => &[(0, "call"), (1, "nanoseconds")],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_convert_back_and_invalid_ones_do_not() {
        for one in ENUMERATIONS {
            assert_eq!(Enumeration::from_handle(one.handle()), Ok(one));
        }
        for bad in [0, 1, MARK - 1, MARK + ENUMERATIONS.len(), !MARK, usize::MAX] {
            assert_eq!(Enumeration::from_handle(TEnum(bad)), Err(INVALID_HANDLE));
        }
    }

    #[test]
    fn items_have_names_of_their_own() {
        for one in ENUMERATIONS {
            let names: std::collections::HashSet<_> =
                (0..one.items()).filter_map(|i| one.item(i)).map(|i| i.1).collect();
            assert_eq!(names.len(), one.items());
            assert_eq!(one.item(one.items()), None);
        }
    }
}

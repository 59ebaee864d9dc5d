//! The program's callbacks of attribute keys, as `oxmpi-core` calls them.

use oxmpi_abi::constants::MPI_SUCCESS;
use oxmpi_core::attributes::{AttributeCall, Callbacks, OnCopy, Owner};
use oxmpi_core::callback::{AttributeFunctions, Copied};

/// The callbacks of a key, and the kind of object that it is for. They get `extra` with every call.
pub fn callbacks(functions: AttributeFunctions, extra: usize) -> (Owner, Callbacks) {
    let owner = match functions {
        AttributeFunctions::Comm(..) => Owner::Comm,
        AttributeFunctions::Type(..) => Owner::Datatype,
        AttributeFunctions::Win(..) => Owner::Win,
    };
    let copy = match functions.predefined_copy() {
        Some(Copied::Same) => OnCopy::Same,
        Some(_) => OnCopy::Nothing,
        None => OnCopy::Ask(Box::new(move |AttributeCall { object, key, value }| {
            match functions.copy(object, key, extra, value) {
                Copied::Dropped => Ok(None),
                Copied::Same => Ok(Some(value)),
                Copied::Value(copied) => Ok(Some(copied)),
                Copied::Refused(code) => Err(code),
            }
        })),
    };
    let delete = functions.has_delete().then(|| {
        let call = move |AttributeCall { object, key, value }| match functions.delete(object, key, value, extra) {
            MPI_SUCCESS => Ok(()),
            code => Err(code),
        };
        Box::new(call) as _
    });
    (owner, Callbacks { copy, delete })
}

//! Queries that MPI removed and old programs call. `xtask/src/gen_capi.rs` lists the renamed ones.

use crate::call::Call;
use oxmpi::datatype as types;
use oxmpi_abi::Result;
use oxmpi_abi::constants::MPI_UNDEFINED;
use oxmpi_abi::handle::Datatype;
use oxmpi_abi::types::Aint;
use oxmpi_datatype::Wide;

/// The value if it fits into an address, or `MPI_UNDEFINED`.
fn narrowed(value: Wide) -> Aint {
    Aint::try_from(value).unwrap_or(MPI_UNDEFINED.into())
}

pub fn type_extent(cx: &Call, datatype: Datatype) -> Result<Aint> {
    Ok(narrowed(types::asked(&cx.enter()?, datatype)?.extent()))
}

pub fn type_lb(cx: &Call, datatype: Datatype) -> Result<Aint> {
    Ok(narrowed(types::asked(&cx.enter()?, datatype)?.lb()))
}

pub fn type_ub(cx: &Call, datatype: Datatype) -> Result<Aint> {
    Ok(narrowed(types::asked(&cx.enter()?, datatype)?.ub()))
}

//! Distributed arrays, and the arguments that a datatype was made of: some of its integers are
//! constants.

use crate::abi::handles::FIRST_DYNAMIC;
use crate::entry::*;

macro_rules! distributed {
    ($($name:ident $profiling:ident $private:ident $size:ty)*) => {$(
        entry! {
            $name $profiling(
                size: c_int,
                rank: c_int,
                ndims: c_int,
                gsizes: *mut $size,
                distribs: *mut c_int,
                dargs: *mut c_int,
                psizes: *mut c_int,
                order: c_int,
                oldtype: TheirHandle,
                newtype: *mut TheirHandle,
            ) -> c_int {
                let mut distribs_c = List::<Distribution>::new(distribs, || length(ndims));
                let mut dargs_c = List::<DistributionArgument>::new(dargs, || length(ndims));
                let mut newtype_c = Place::<Datatype>::out(newtype);
                let code = c::$private(
                    size,
                    rank,
                    ndims,
                    gsizes,
                    distribs_c.ptr(),
                    dargs_c.ptr(),
                    psizes,
                    Order::ours(order),
                    Datatype::ours(oldtype),
                    newtype_c.ptr(),
                );
                newtype_c.put();
                answer(code)
            }
        }
    )*};
}

distributed! {
    MPI_Type_create_darray PMPI_Type_create_darray oxmpi_Type_create_darray c_int
    MPI_Type_create_darray_c PMPI_Type_create_darray_c oxmpi_Type_create_darray_c i64
}

entry! {
    MPI_Type_get_contents PMPI_Type_get_contents(
        datatype: TheirHandle,
        max_integers: c_int,
        max_addresses: c_int,
        max_datatypes: c_int,
        integers: *mut c_int,
        addresses: *mut i64,
        datatypes: *mut TheirHandle,
    ) -> c_int {
        let ours = Datatype::ours(datatype);
        let (mut num_integers, mut num_addresses, mut num_datatypes, mut combiner) = (0, 0, 0, 0);
        let code = c::oxmpi_Type_get_envelope(
            ours,
            &mut num_integers,
            &mut num_addresses,
            &mut num_datatypes,
            &mut combiner,
        );
        if code != MPI_SUCCESS {
            return answer(code);
        }
        let mut types = Types::new(datatypes, length(max_datatypes), length(num_datatypes));
        let code = c::oxmpi_Type_get_contents(
            ours,
            max_integers,
            max_addresses,
            max_datatypes,
            integers,
            addresses,
            types.ptr(),
        );
        if code == MPI_SUCCESS {
            types.put();
            put_integers(combiner, integers, length(num_integers), false);
        }
        answer(code)
    }
}

entry! {
    MPI_Type_get_contents_c PMPI_Type_get_contents_c(
        datatype: TheirHandle,
        max_integers: i64,
        max_addresses: i64,
        max_counts: i64,
        max_datatypes: i64,
        integers: *mut c_int,
        addresses: *mut i64,
        counts: *mut i64,
        datatypes: *mut TheirHandle,
    ) -> c_int {
        let ours = Datatype::ours(datatype);
        let (mut num_integers, mut num_addresses, mut num_counts, mut num_datatypes, mut combiner) = (0, 0, 0, 0, 0);
        let code = c::oxmpi_Type_get_envelope_c(
            ours,
            &mut num_integers,
            &mut num_addresses,
            &mut num_counts,
            &mut num_datatypes,
            &mut combiner,
        );
        if code != MPI_SUCCESS {
            return answer(code);
        }
        let mut types = Types::new(datatypes, length(max_datatypes), length(num_datatypes));
        let code = c::oxmpi_Type_get_contents_c(
            ours,
            max_integers,
            max_addresses,
            max_counts,
            max_datatypes,
            integers,
            addresses,
            counts,
            types.ptr(),
        );
        if code == MPI_SUCCESS {
            types.put();
            put_integers(combiner, integers, length(num_integers), num_counts > 0);
        }
        answer(code)
    }
}

/// The datatypes of a datatype, of which the caller has room for so many.
struct Types {
    theirs: *mut TheirHandle,
    ours: Vec<Datatype>,
    count: usize,
}

impl Types {
    fn new(theirs: *mut TheirHandle, room: usize, count: usize) -> Types {
        Types { theirs, ours: vec![MPI_DATATYPE_NULL; room.min(count)], count }
    }

    fn ptr(&mut self) -> *mut Datatype {
        if self.theirs.is_null() { std::ptr::null_mut() } else { self.ours.as_mut_ptr() }
    }

    /// # Safety
    /// The call has stored all datatypes.
    unsafe fn put(&self) {
        for (i, ours) in self.ours.iter().take(self.count).enumerate().filter(|_| !self.theirs.is_null()) {
            // SAFETY: the caller has room for as many as `ours` has elements.
            unsafe { *self.theirs.add(i) = Datatype::theirs(*ours) };
        }
    }
}

/// Converts the integers that are constants: orders and distributions. Where a datatype was made with
/// large counts, its sizes are not among the integers.
///
/// # Safety
/// `integers` has `count` elements, those of a datatype with this combiner.
unsafe fn put_integers(combiner: c_int, integers: *mut c_int, count: usize, is_large: bool) {
    if count == 0 || integers.is_null() {
        return;
    }
    // SAFETY: every index below is less than `count`.
    unsafe {
        let convert = |i: usize, theirs: fn(c_int) -> c_int| *integers.add(i) = theirs(*integers.add(i));
        match combiner {
            MPI_COMBINER_SUBARRAY => convert(count - 1, Order::theirs),
            MPI_COMBINER_DARRAY if count > 3 => {
                // size, rank, ndims; the sizes unless they are large; distributions, arguments, processes; the order.
                let ndims = length(*integers.add(2));
                let first = if is_large { 3 } else { 3 + ndims };
                if count > first + 3 * ndims {
                    (first..first + ndims).for_each(|i| convert(i, Distribution::theirs));
                    (first + ndims..first + 2 * ndims).for_each(|i| convert(i, their_argument));
                }
                convert(count - 1, Order::theirs);
            }
            _ => {}
        }
    }
}

fn their_argument(ours: c_int) -> c_int {
    if ours == MPI_DISTRIBUTE_DFLT_DARG { Distribution::theirs(ours) } else { ours }
}

entry! {
    MPI_Type_get_value_index PMPI_Type_get_value_index(
        value_type: TheirHandle,
        index_type: TheirHandle,
        pair_type: *mut TheirHandle,
    ) -> c_int {
        let mut pair = MPI_DATATYPE_NULL;
        let place = if pair_type.is_null() { std::ptr::null_mut() } else { &raw mut pair };
        let code = c::oxmpi_Type_get_value_index(Datatype::ours(value_type), Datatype::ours(index_type), place);
        if code == MPI_SUCCESS {
            // The other MPIs have the pairs with a name only, and programs rely on that.
            let is_named = pair.0 < FIRST_DYNAMIC;
            *pair_type = Datatype::theirs(if is_named { pair } else { MPI_DATATYPE_NULL });
        }
        answer(code)
    }
}

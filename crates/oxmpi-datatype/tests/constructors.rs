//! The results of the constructors: bounds as in the standard's examples, contents equal to the
//! arguments, and all errors.

use std::sync::Arc;

use oxmpi_datatype::{Combiner, Datatype, Envelope, LB, UB, match_size, predefined, predefined_or_marker};

const CHAR: usize = 0x243;
const INT: usize = 0x209;
const FLOAT: usize = 0x210;
const DOUBLE: usize = 0x214;

const ERR_COUNT: i32 = 2;
const ERR_ARG: i32 = 13;
const C: i32 = 12;
const FORTRAN: i32 = 15;
const UNDEFINED: i32 = -32766;

fn of(handle: usize) -> Arc<Datatype> {
    predefined_or_marker(handle).unwrap().clone()
}

fn bounds(ty: &Datatype) -> (i128, i128) {
    (ty.lb(), ty.extent())
}

fn map(ty: &Datatype) -> Vec<(&'static str, i128)> {
    ty.runs()
        .flat_map(|r| (0..r.count).map(move |i| (r.named.name, r.disp + i128::from(i) * r.named.extent() as i128)))
        .collect()
}

/// A double followed by a char.
fn double_char() -> Arc<Datatype> {
    Datatype::create_struct(vec![1, 1], vec![0, 8], vec![of(DOUBLE), of(CHAR)]).unwrap()
}

#[test]
fn a_struct_is_padded_as_in_an_array() {
    let ty = double_char();
    assert_eq!((ty.size(), bounds(&ty), ty.true_extent()), (9, (0, 16), 9));
    let swapped = Datatype::create_struct(vec![1, 1], vec![0, 8], vec![of(CHAR), of(DOUBLE)]).unwrap();
    assert_eq!(bounds(&swapped), (0, 16));
    let three = Datatype::contiguous(3, &ty).unwrap();
    assert_eq!(map(&three).iter().map(|e| e.1).collect::<Vec<_>>(), [0, 8, 16, 24, 32, 40]);
    assert_eq!(bounds(&three), (0, 48));
}

#[test]
fn vectors_and_indexed_types_lie_where_the_standard_says() {
    let ty = double_char();
    let disps = |ty: &Datatype| map(ty).iter().map(|e| e.1).collect::<Vec<_>>();
    let vector = Datatype::vector(2, 3, 4, &ty).unwrap();
    assert_eq!(disps(&vector), [0, 8, 16, 24, 32, 40, 64, 72, 80, 88, 96, 104]);
    let back = Datatype::vector(3, 1, -2, &ty).unwrap();
    assert_eq!(disps(&back), [0, 8, -32, -24, -64, -56]);
    assert_eq!(bounds(&back), (-64, 80));
    let indexed = Datatype::indexed(vec![3, 1], vec![4, 0], &ty).unwrap();
    assert_eq!(disps(&indexed), [64, 72, 80, 88, 96, 104, 0, 8]);
    let members = Datatype::create_struct(vec![2, 1, 3], vec![0, 16, 26], vec![of(FLOAT), ty, of(CHAR)]).unwrap();
    assert_eq!(disps(&members), [0, 4, 16, 24, 26, 27, 28]);
    let signature: Vec<_> = members.signature().iter().map(|s| (s.0.name, s.1)).collect();
    assert_eq!(signature, [("MPI_FLOAT", 2), ("MPI_DOUBLE", 1), ("MPI_CHAR", 4)]);
}

#[test]
fn markers_and_resizing_set_bounds() {
    let one = Datatype::resized(&of(INT), -3, 9).unwrap();
    assert_eq!((bounds(&one), one.ub(), one.true_lb(), one.true_extent()), ((-3, 9), 6, 0, 4));
    let two = Datatype::contiguous(2, &one).unwrap();
    assert_eq!((bounds(&two), two.ub()), ((-3, 18), 15));
    assert_eq!(map(&two), [("MPI_INT", 0), ("MPI_INT", 9)]);
    // The same with the markers of MPI-1.
    let marked = Datatype::create_struct(vec![1, 1, 1], vec![-3, 0, 6], vec![of(LB), of(INT), of(UB)]).unwrap();
    assert_eq!((bounds(&marked), marked.size()), ((-3, 9), 4));
    assert_eq!(bounds(&Datatype::contiguous(2, &marked).unwrap()), (-3, 18));
    // Markers of a member override data; new markers replace old ones.
    let outer = Datatype::create_struct(vec![1, 1], vec![0, 100], vec![one.clone(), of(DOUBLE)]).unwrap();
    assert_eq!(bounds(&outer), (-3, 9));
    assert_eq!(bounds(&Datatype::resized(&outer, 1, 2).unwrap()), (1, 2));
    // A marker with block length zero has no effect.
    let none = Datatype::create_struct(vec![0, 1], vec![-50, 0], vec![of(LB), of(INT)]).unwrap();
    assert_eq!(bounds(&none), (0, 4));
    assert!(predefined(LB).is_none() && predefined(UB).is_none());
}

#[test]
fn nothing_is_a_type_too() {
    for ty in [
        Datatype::contiguous(0, &of(INT)).unwrap(),
        Datatype::vector(5, 0, 9, &of(INT)).unwrap(),
        Datatype::indexed(vec![0, 0], vec![5, 9], &of(INT)).unwrap(),
        Datatype::create_struct(vec![], vec![], vec![]).unwrap(),
    ] {
        assert_eq!((ty.size(), bounds(&ty), ty.true_lb(), ty.true_extent()), (0, (0, 0), 0, 0));
        ty.commit().unwrap();
        assert_eq!(map(&ty), []);
    }
}

#[test]
fn contents_give_back_the_arguments() {
    let (int, double) = (of(INT), of(DOUBLE));
    let check = |ty: &Datatype, combiner, integers: &[i32], addresses: &[i64], large: &[i64], types: usize| {
        let contents = ty.contents();
        assert_eq!(contents.integers, integers);
        assert_eq!(contents.addresses, addresses);
        assert_eq!(contents.large_counts, large);
        assert_eq!(contents.datatypes.len(), types);
        let counts = (integers.len(), addresses.len(), large.len());
        let (integers, addresses, large_counts) = counts;
        assert_eq!(ty.envelope(), Envelope { integers, addresses, large_counts, datatypes: types, combiner });
    };
    check(&int, Combiner::Named, &[], &[], &[], 0);
    check(&Datatype::dup(&int), Combiner::Dup, &[], &[], &[], 1);
    check(&Datatype::contiguous(7, &int).unwrap(), Combiner::Contiguous, &[7], &[], &[], 1);
    check(&Datatype::contiguous(7, &int).unwrap().as_large(), Combiner::Contiguous, &[], &[], &[7], 1);
    check(&Datatype::vector(2, 3, -4, &int).unwrap(), Combiner::Vector, &[2, 3, -4], &[], &[], 1);
    check(&Datatype::hvector(2, 3, 40, &int).unwrap(), Combiner::Hvector, &[2, 3], &[40], &[], 1);
    check(&Datatype::hvector(2, 3, 40, &int).unwrap().as_large(), Combiner::Hvector, &[], &[], &[2, 3, 40], 1);
    let indexed = Datatype::indexed(vec![1, 2], vec![3, 4], &int).unwrap();
    check(&indexed, Combiner::Indexed, &[2, 1, 2, 3, 4], &[], &[], 1);
    let hindexed = Datatype::hindexed(vec![1, 2], vec![30, 40], &int).unwrap();
    check(&hindexed, Combiner::Hindexed, &[2, 1, 2], &[30, 40], &[], 1);
    let block = Datatype::indexed_block(5, vec![3, 4], &int).unwrap();
    check(&block, Combiner::IndexedBlock, &[2, 5, 3, 4], &[], &[], 1);
    let hblock = Datatype::hindexed_block(5, vec![30, 40], &int).unwrap();
    check(&hblock, Combiner::HindexedBlock, &[2, 5], &[30, 40], &[], 1);
    let members = Datatype::create_struct(vec![1, 2], vec![0, 8], vec![int.clone(), double.clone()]).unwrap();
    check(&members, Combiner::Struct, &[2, 1, 2], &[0, 8], &[], 2);
    assert!(Arc::ptr_eq(&members.contents().datatypes[1], &double));
    let large = Datatype::create_struct(vec![1, 2], vec![0, 8], vec![int.clone(), double]).unwrap().as_large();
    check(&large, Combiner::Struct, &[], &[], &[2, 1, 2, 0, 8], 2);
    check(&Datatype::resized(&int, -3, 9).unwrap(), Combiner::Resized, &[], &[-3, 9], &[], 1);
    let sub = || Datatype::subarray(vec![5, 6], vec![2, 3], vec![1, 0], FORTRAN, &int).unwrap();
    check(&sub(), Combiner::Subarray, &[2, 5, 6, 2, 3, 1, 0, FORTRAN], &[], &[], 1);
    assert!(Arc::ptr_eq(&sub().contents().datatypes[0], &int));
    check(&sub().as_large(), Combiner::Subarray, &[2, FORTRAN], &[], &[5, 6, 2, 3, 1, 0], 1);
    let dist = || Datatype::darray(4, 3, vec![5, 6], vec![17, 18], vec![19, 2], vec![2, 2], C, &int).unwrap();
    check(&dist(), Combiner::Darray, &[4, 3, 2, 5, 6, 17, 18, 19, 2, 2, 2, C], &[], &[], 1);
    check(&dist().as_large(), Combiner::Darray, &[4, 3, 2, 17, 18, 19, 2, 2, 2, C], &[], &[5, 6], 1);
    check(&Datatype::f90_real(6, UNDEFINED).unwrap(), Combiner::F90Real, &[6, UNDEFINED], &[], &[], 0);
    check(&Datatype::f90_integer(9).unwrap(), Combiner::F90Integer, &[9], &[], &[], 0);
}

#[test]
fn subarrays_lie_in_the_array() {
    let sub = Datatype::subarray(vec![4, 5], vec![2, 3], vec![1, 2], C, &of(INT)).unwrap();
    assert_eq!(bounds(&sub), (0, 80));
    assert_eq!(map(&sub).iter().map(|e| e.1).collect::<Vec<_>>(), [28, 32, 36, 48, 52, 56]);
    let sub = Datatype::subarray(vec![4, 5], vec![2, 3], vec![1, 2], FORTRAN, &of(INT)).unwrap();
    assert_eq!(map(&sub).iter().map(|e| e.1).collect::<Vec<_>>(), [36, 40, 52, 56, 68, 72]);
}

#[test]
fn distributed_arrays_cover_the_array_once() {
    // As in the standard's example: CYCLIC(10), not distributed, BLOCK, on a grid of 2 x 3.
    let mut seen = vec![0u8; 100 * 20 * 30];
    for rank in 0..6 {
        let part = Datatype::darray(
            6,
            rank,
            vec![100, 20, 30],
            vec![18, 16, 17],
            vec![10, 0, 19],
            vec![2, 1, 3],
            FORTRAN,
            &of(CHAR),
        )
        .unwrap();
        assert_eq!(bounds(&part), (0, 60_000));
        map(&part).iter().for_each(|e| seen[e.1 as usize] += 1);
    }
    assert!(seen.iter().all(|s| *s == 1));
}

#[test]
fn fortran_types_by_precision_are_predefined_and_the_same_each_time() {
    let real = Datatype::f90_real(15, 307).unwrap();
    assert!(real.is_predefined() && real.is_committed());
    assert_eq!(real.size(), 8);
    assert!(Arc::ptr_eq(&real, &Datatype::f90_real(15, 307).unwrap()));
    assert!(!Arc::ptr_eq(&real, &Datatype::f90_real(15, 300).unwrap()));
    assert_eq!(Datatype::f90_real(6, UNDEFINED).unwrap().size(), 4);
    assert_eq!(Datatype::f90_real(UNDEFINED, 4000).unwrap().size(), 16);
    assert_eq!(Datatype::f90_real(30, UNDEFINED).unwrap().only().unwrap().name, "MPI_REAL16");
    assert_eq!(Datatype::f90_complex(15, 307).unwrap().size(), 16);
    assert_eq!([2, 4, 9, 18, 38].map(|r| Datatype::f90_integer(r).unwrap().size()), [1, 2, 4, 8, 16]);
    for refused in [
        Datatype::f90_real(34, UNDEFINED),
        Datatype::f90_real(6, 5000),
        Datatype::f90_real(UNDEFINED, UNDEFINED),
        Datatype::f90_complex(40, 1),
        Datatype::f90_integer(39),
        Datatype::f90_integer(UNDEFINED),
    ] {
        assert_eq!(refused.map(|_| ()).unwrap_err().class(), ERR_ARG);
    }
}

#[test]
fn pairs_of_value_and_index() {
    let pair = |v, i| Datatype::value_index(&of(v), &of(i));
    assert!(Arc::ptr_eq(&pair(DOUBLE, INT).unwrap(), &of(0x229)));
    let unnamed = pair(DOUBLE, 0x259).unwrap();
    assert_eq!((unnamed.size(), bounds(&unnamed), unnamed.combiner()), (16, (0, 16), Combiner::ValueIndex));
    assert!(unnamed.is_predefined() && Arc::ptr_eq(&unnamed, &pair(DOUBLE, 0x259).unwrap()));
    let types = unnamed.contents().datatypes;
    assert!(Arc::ptr_eq(&types[0], &of(DOUBLE)) && Arc::ptr_eq(&types[1], &of(0x259)));
    assert!(pair(0x216, INT).is_none(), "complex numbers have no order");
    assert!(pair(DOUBLE, DOUBLE).is_none());
    let derived = Datatype::contiguous(1, &of(INT)).unwrap();
    assert!(Datatype::value_index(&derived, &of(INT)).is_none());
    assert_eq!(match_size(193, 4).unwrap().name, "MPI_REAL4");
}

#[test]
fn what_cannot_be_is_refused_with_its_argument() {
    let int = of(INT);
    let class = |made: oxmpi_abi::Result<Arc<Datatype>>| {
        let err = made.map(|_| ()).unwrap_err();
        (err.class(), err.text().split(' ').next().unwrap().to_owned())
    };
    let said = |class: i32, name: &str| (class, name.to_owned());
    assert_eq!(class(Datatype::contiguous(-1, &int)), said(ERR_COUNT, "count"));
    assert_eq!(class(Datatype::vector(-1, 1, 1, &int)), said(ERR_COUNT, "count"));
    assert_eq!(class(Datatype::vector(1, -1, 1, &int)), said(ERR_ARG, "blocklength"));
    assert_eq!(class(Datatype::hvector(1, -1, 1, &int)), said(ERR_ARG, "blocklength"));
    assert_eq!(class(Datatype::indexed(vec![1, -2], vec![0, 0], &int)), said(ERR_ARG, "array_of_blocklengths[1]"));
    assert_eq!(class(Datatype::hindexed(vec![-2], vec![0], &int)), said(ERR_ARG, "array_of_blocklengths[0]"));
    assert_eq!(class(Datatype::indexed_block(-2, vec![0], &int)), said(ERR_ARG, "blocklength"));
    assert_eq!(class(Datatype::hindexed_block(-2, vec![0], &int)), said(ERR_ARG, "blocklength"));
    let members = Datatype::create_struct(vec![-1], vec![0], vec![int.clone()]);
    assert_eq!(class(members), said(ERR_ARG, "array_of_blocklengths[0]"));
    let sub = |sizes: &[i64], subs: &[i64], starts: &[i64], order| {
        class(Datatype::subarray(sizes.to_vec(), subs.to_vec(), starts.to_vec(), order, &of(INT)))
    };
    assert_eq!(sub(&[], &[], &[], C), said(ERR_ARG, "ndims"));
    assert_eq!(sub(&[0], &[1], &[0], C), said(ERR_ARG, "array_of_sizes[0]"));
    assert_eq!(sub(&[4, 4], &[1, 0], &[0, 0], C), said(ERR_ARG, "array_of_subsizes[1]"));
    assert_eq!(sub(&[4], &[5], &[0], C), said(ERR_ARG, "array_of_subsizes[0]"));
    assert_eq!(sub(&[4], &[2], &[3], C), said(ERR_ARG, "array_of_starts[0]"));
    assert_eq!(sub(&[4], &[2], &[-1], C), said(ERR_ARG, "array_of_starts[0]"));
    assert_eq!(sub(&[4], &[2], &[0], 3), said(ERR_ARG, "order"));
    let dist = |size, rank, g: i64, d: i32, a: i32, p: i32, order| {
        class(Datatype::darray(size, rank, vec![g], vec![d], vec![a], vec![p], order, &of(INT)))
    };
    assert_eq!(dist(0, 0, 4, 17, 19, 1, C), said(ERR_ARG, "size"));
    assert_eq!(dist(2, 2, 4, 17, 19, 2, C), said(ERR_ARG, "rank"));
    assert_eq!(dist(2, -1, 4, 17, 19, 2, C), said(ERR_ARG, "rank"));
    assert_eq!(dist(2, 0, 0, 17, 19, 2, C), said(ERR_ARG, "array_of_gsizes[0]"));
    assert_eq!(dist(2, 0, 4, 17, 19, 0, C), said(ERR_ARG, "array_of_psizes[0]"));
    assert_eq!(dist(2, 0, 4, 17, 19, 3, C).0, ERR_ARG);
    assert_eq!(dist(2, 0, 4, 17, 1, 2, C), said(ERR_ARG, "array_of_dargs[0]"));
    assert_eq!(dist(2, 0, 4, 18, 0, 2, C), said(ERR_ARG, "array_of_dargs[0]"));
    assert_eq!(dist(2, 0, 4, 99, 1, 2, C), said(ERR_ARG, "array_of_distribs[0]"));
    assert_eq!(dist(2, 0, 4, 16, 1, 2, C), said(ERR_ARG, "array_of_psizes[0]"));
    assert_eq!(dist(2, 0, 4, 17, 19, 2, 0), said(ERR_ARG, "order"));
}

#[test]
fn overlaps_that_are_easy_to_see_are_seen() {
    let committed = |ty: oxmpi_abi::Result<Arc<Datatype>>| {
        let ty = ty.unwrap();
        ty.commit().unwrap();
        ty
    };
    assert!(committed(Datatype::hvector(3, 1, 2, &of(INT))).overlaps(1));
    assert!(committed(Datatype::hvector(3, 1, 0, &of(INT))).overlaps(1));
    assert!(committed(Datatype::indexed_block(1, vec![3, 9, 3], &of(INT))).overlaps(1));
    assert!(committed(Datatype::resized(&of(INT), 0, 2)).overlaps(2));
    assert!(!committed(Datatype::resized(&of(INT), 0, 2)).overlaps(1));
    assert!(!committed(Datatype::hvector(3, 1, 4, &of(INT))).overlaps(9));
    assert!(!committed(Datatype::vector(3, 1, -2, &of(INT))).overlaps(1));
    // Columns of a matrix interleave without overlapping.
    let column = Datatype::vector(10, 1, 10, &of(INT)).unwrap();
    assert!(!committed(Datatype::resized(&column, 0, 4)).overlaps(10));
}

//! Types leak no memory. This test is alone in its program, because it measures the memory of the
//! whole process.

use std::sync::Arc;

use oxmpi_datatype::{Datatype, predefined};

fn of(handle: usize) -> Arc<Datatype> {
    predefined(handle).unwrap().clone()
}

const INT: usize = 0x209;
const DOUBLE: usize = 0x214;

#[test]
fn many_small_types_do_not_grow_the_process() {
    fn resident_kib() -> usize {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
    let make = |n: i64| {
        let vector = Datatype::vector(4 + n % 7, 1, 3, &of(DOUBLE)).unwrap();
        let member = Datatype::create_struct(vec![1, 2], vec![0, 400], vec![of(INT), vector]).unwrap();
        let sub = Datatype::subarray(vec![8, 8], vec![3, 3], vec![1, 2], 12, &member).unwrap();
        sub.commit().unwrap();
    };
    (0..50_000).for_each(make);
    let before = resident_kib();
    (0..1_000_000).for_each(make);
    let after = resident_kib();
    assert!(after < before + 1024, "grew from {before} to {after} KiB");
}

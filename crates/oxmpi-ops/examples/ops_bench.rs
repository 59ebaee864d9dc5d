//! How fast reductions are: bytes of operands per second, beside a copy and a loop as a C program
//! would have it.
//!
//! `cargo run --release -p oxmpi-ops --example ops_bench [NAME…]`

use oxmpi_datatype::NAMED;
use oxmpi_ops::{Op, kernel};
use std::hint::black_box;
use std::time::{Duration, Instant};

const SIZES: [usize; 8] = [8, 64, 256, 1 << 10, 16 << 10, 256 << 10, 1 << 20, 16 << 20];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    print!("GB/s (ns for 8 and 64 B)     ");
    SIZES.iter().for_each(|size| print!("{size:>10}"));
    println!();
    row("memcpy", 1, |left, _, out, count| {
        // SAFETY: as long as the arrays.
        unsafe { out.copy_from_nonoverlapping(left, count) }
    });
    row("loop, f64 sum", 8, |left, _, out, count| {
        let (left, out) = (left.cast::<f64>(), out.cast::<f64>());
        for i in 0..count {
            // SAFETY: within the arrays.
            unsafe { *out.add(i) += *left.add(i) };
        }
    });
    for (op, name) in [
        (Op::Sum, "MPI_DOUBLE"),
        (Op::Max, "MPI_DOUBLE"),
        (Op::Sum, "MPI_FLOAT"),
        (Op::Min, "MPI_FLOAT"),
        (Op::Sum, "MPI_INT"),
        (Op::Max, "MPI_INT"),
        (Op::Prod, "MPI_INT64_T"),
        (Op::Max, "MPI_INT64_T"),
        (Op::Bor, "MPI_UINT64_T"),
        (Op::Sum, "MPI_INT8_T"),
        (Op::Sum, "MPI_REAL2"),
        (Op::Land, "MPI_INT"),
        (Op::Land, "MPI_LOGICAL"),
        (Op::Prod, "MPI_C_DOUBLE_COMPLEX"),
        (Op::Minloc, "MPI_DOUBLE_INT"),
        (Op::Sum, "MPI_LONG_DOUBLE"),
        (Op::Sum, "MPI_REAL16"),
    ] {
        let label = format!("{} {name}", op.name());
        if !wanted.is_empty() && !wanted.iter().any(|w| label.contains(w.as_str())) {
            continue;
        }
        let Some(named) = NAMED.iter().find(|named| named.name == name) else { continue };
        let Ok(kernel) = kernel(op, named) else { continue };
        row(&label, named.extent(), |left, _, out, count| {
            // SAFETY: so many whole elements fit.
            unsafe { kernel(left, out, out, count) }
        });
        if name == "MPI_DOUBLE" {
            row(&format!("{label}, 3"), named.extent(), |left, right, out, count| {
                // SAFETY: so many whole elements fit.
                unsafe { kernel(left, right, out, count) }
            });
        }
    }
}

/// One line: the operation on arrays of each size, with elements of `extent` bytes.
fn row(label: &str, extent: usize, f: impl Fn(*const u8, *const u8, *mut u8, usize)) {
    print!("{label:<29}");
    for size in SIZES {
        let (left, right, mut out) = (vec![0u8; size], vec![0u8; size], vec![0u8; size]);
        let run = |times: usize, out: &mut Vec<u8>| {
            let start = Instant::now();
            for _ in 0..times {
                f(
                    black_box(left.as_ptr()),
                    black_box(right.as_ptr()),
                    black_box(out.as_mut_ptr()),
                    black_box(size / extent),
                );
            }
            start.elapsed()
        };
        let mut times = 1;
        while run(times, &mut out) < Duration::from_millis(2) {
            times *= 2;
        }
        let best = (0..5).map(|_| run(times, &mut out)).min().unwrap_or_default().as_secs_f64() / times as f64;
        if size <= 64 {
            print!("{:>10.2}", best * 1e9);
        } else {
            print!("{:>10.1}", size as f64 / best / 1e9);
        }
    }
    println!();
}

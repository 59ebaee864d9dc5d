//! Measures how fast the kernels copy the layouts of real programs, compared with a handwritten
//! loop for the layout and with a plain copy of as many bytes. `cargo run --release -p
//! oxmpi-datatype --example pack_bench [filter]`

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use oxmpi_datatype::{Cursor, Datatype, Region, Target, predefined};

fn of(handle: usize) -> Arc<Datatype> {
    predefined(handle).unwrap().clone()
}

/// Best time of a few rounds, in nanoseconds per call.
fn time(mut f: impl FnMut()) -> f64 {
    let start = Instant::now();
    f();
    let once = start.elapsed().as_secs_f64();
    let calls = (0.002 / once.max(1e-8)).clamp(1.0, 1e6) as usize;
    let mut best = f64::MAX;
    for _ in 0..25 {
        let start = Instant::now();
        (0..calls).for_each(|_| f());
        best = best.min(start.elapsed().as_secs_f64() / calls as f64);
    }
    best * 1e9
}

type Pack = Box<dyn Fn(*const u8, *mut u8)>;
type Unpack = Box<dyn Fn(*mut u8, *const u8)>;

struct Case {
    name: String,
    ty: Arc<Datatype>,
    count: u64,
    /// Bytes of memory that the elements span.
    span: usize,
    /// A handwritten loop for the layout: memory, packed.
    pack: Pack,
    unpack: Unpack,
}

/// Blocks of `N` bytes at the offsets of an iterator, computed in the loop.
fn by_hand<const N: usize, I: Iterator<Item = usize>>(offsets: impl Fn() -> I + Clone + 'static) -> (Pack, Unpack) {
    let again = offsets.clone();
    (
        // SAFETY: `main` gives memory of the case's span and a packed buffer of its size.
        Box::new(move |mem, packed| unsafe {
            for (i, o) in offsets().enumerate() {
                packed.add(i * N).cast::<[u8; N]>().write_unaligned(mem.add(o).cast::<[u8; N]>().read_unaligned());
            }
        }),
        // SAFETY: `main` gives memory of the case's span and a packed buffer of its size.
        Box::new(move |mem, packed| unsafe {
            for (i, o) in again().enumerate() {
                mem.add(o).cast::<[u8; N]>().write_unaligned(packed.add(i * N).cast::<[u8; N]>().read_unaligned());
            }
        }),
    )
}

fn cases() -> Vec<Case> {
    let double = of(0x214);
    let mut all = Vec::new();
    let mut add = |name: String, ty: Arc<Datatype>, count: u64, span: usize, hand: (_, _)| {
        ty.commit().unwrap();
        all.push(Case { name, ty, count, span, pack: hand.0, unpack: hand.1 });
    };
    for (rows, row) in [(512usize, 64usize), (1024, 1024), (4096, 4096)] {
        let ty = Datatype::vector(rows as i64, 1, row as i64, &double).unwrap();
        let hand = by_hand::<8, _>(move || (0..rows).map(move |i| i * row * 8));
        add(format!("column of {rows} doubles, rows of {row}"), ty, 1, rows * row * 8, hand);
    }
    for (rows, row) in [(100usize, 100usize), (1024, 1024), (2000, 2000)] {
        let column = Datatype::vector(rows as i64, 1, row as i64, &double).unwrap();
        let ty = Datatype::resized(&column, 0, 8).unwrap();
        let hand = by_hand::<8, _>(move || (0..row).flat_map(move |j| (0..rows).map(move |i| (i * row + j) * 8)));
        add(format!("all columns of a matrix of {rows} x {row}"), ty, row as u64, rows * row * 8, hand);
    }
    for n in [1usize << 10, 1 << 16, 1 << 20] {
        let ty = Datatype::vector(n as i64, 1, 2, &double).unwrap();
        let hand = by_hand::<8, _>(move || (0..n).map(|i| i * 16));
        add(format!("{n} blocks of 8, stride 16"), ty, 1, n * 16, hand);
    }
    for n in [32usize, 128] {
        let cube = n * n * n * 8;
        let faces: [(&str, [i64; 3]); 3] =
            [("x", [n as i64, n as i64, 1]), ("y", [n as i64, 1, n as i64]), ("z", [1, n as i64, n as i64])];
        for (axis, sub) in faces {
            // Two cells of halo are left out, so that the face is not one stride.
            let inner: Vec<i64> = sub.iter().map(|s| if *s == 1 { 1 } else { s - 2 }).collect();
            let start: Vec<i64> = sub.iter().map(|_| 1).collect();
            let ty = Datatype::subarray(vec![n as i64; 3], inner.clone(), start, 12, &double).unwrap();
            let (a, b, c) = (inner[0] as usize, inner[1] as usize, inner[2] as usize);
            // Handwritten: three loops, the innermost over contiguous cells.
            let pack = move |mem: *const u8, packed: *mut u8| {
                let mut at = packed.cast::<f64>();
                for i in 1..=a {
                    for j in 1..=b {
                        for k in 1..=c {
                            // SAFETY: inside the cube; the packed buffer has room for the face.
                            unsafe {
                                *at = *mem.cast::<f64>().add((i * n + j) * n + k);
                                at = at.add(1);
                            }
                        }
                    }
                }
            };
            let unpack = move |mem: *mut u8, packed: *const u8| {
                let mut at = packed.cast::<f64>();
                for i in 1..=a {
                    for j in 1..=b {
                        for k in 1..=c {
                            // SAFETY: inside the cube; the packed buffer has room for the face.
                            unsafe {
                                *mem.cast::<f64>().add((i * n + j) * n + k) = *at;
                                at = at.add(1);
                            }
                        }
                    }
                }
            };
            let hand: (Pack, Unpack) = (Box::new(pack), Box::new(unpack));
            add(format!("{axis} face of a cube of {n}^3 doubles"), ty, 1, cube, hand);
        }
    }
    for n in [1usize << 12, 1 << 18] {
        let mut seed = 1u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize
        };
        let picks: Arc<[usize]> = (0..n).map(|i| i * 4 + random() % 4).collect();
        let disps = picks.iter().map(|p| *p as i64).collect();
        let ty = Datatype::indexed_block(1, disps, &double).unwrap();
        let list = picks.clone();
        let hand = by_hand::<8, _>(move || {
            let list = list.clone();
            (0..n).map(move |i| list[i] * 8)
        });
        add(format!("{n} doubles of an index list, in order"), ty, 1, n * 4 * 8, hand);
        let picks: Arc<[usize]> = (0..n).map(|_| random() % (n * 4)).collect();
        let ty = Datatype::indexed_block(1, picks.iter().map(|p| *p as i64).collect(), &double).unwrap();
        let hand = by_hand::<8, _>(move || {
            let list = picks.clone();
            (0..n).map(move |i| list[i] * 8)
        });
        add(format!("{n} doubles of an index list, scattered"), ty, 1, n * 4 * 8, hand);
        // Blocks of one to four doubles.
        let lens: Vec<i64> = (0..n).map(|_| 1 + (random() % 4) as i64).collect();
        let disps: Vec<i64> = (0..n as i64).map(|i| i * 6).collect();
        let ty = Datatype::indexed(lens.clone(), disps, &double).unwrap();
        let list: Arc<[i64]> = lens.into();
        let hand = by_hand::<8, _>(move || {
            let list = list.clone();
            (0..n).flat_map(move |i| (0..list[i] as usize).map(move |j| (i * 6 + j) * 8))
        });
        add(format!("{n} blocks of 1-4 doubles"), ty, 1, n * 6 * 8, hand);
    }
    for n in [1usize << 10, 1 << 17] {
        // struct { int a; double b[3]; char c; } : 40 bytes, 29 of them data.
        let types = vec![of(0x209), double.clone(), of(0x243)];
        let ty = Datatype::create_struct(vec![1, 3, 1], vec![0, 8, 32], types).unwrap();
        let pack = move |mem: *const u8, packed: *mut u8| {
            for i in 0..n {
                // SAFETY: inside the array and the packed buffer.
                unsafe {
                    let (m, p) = (mem.add(i * 40), packed.add(i * 29));
                    p.cast::<[u8; 4]>().write_unaligned(m.cast::<[u8; 4]>().read_unaligned());
                    p.add(4).cast::<[u8; 24]>().write_unaligned(m.add(8).cast::<[u8; 24]>().read_unaligned());
                    *p.add(28) = *m.add(32);
                }
            }
        };
        let unpack = move |mem: *mut u8, packed: *const u8| {
            for i in 0..n {
                // SAFETY: inside the array and the packed buffer.
                unsafe {
                    let (m, p) = (mem.add(i * 40), packed.add(i * 29));
                    m.cast::<[u8; 4]>().write_unaligned(p.cast::<[u8; 4]>().read_unaligned());
                    m.add(8).cast::<[u8; 24]>().write_unaligned(p.add(4).cast::<[u8; 24]>().read_unaligned());
                    *m.add(32) = *p.add(28);
                }
            }
        };
        let hand: (Pack, Unpack) = (Box::new(pack), Box::new(unpack));
        add(format!("{n} structs of int, 3 doubles, char"), ty, n as u64, n * 40, hand);
    }
    all
}

fn main() {
    let filter = std::env::args().nth(1).unwrap_or_default();
    println!(
        "{:45} {:>9}  {:>26}  {:>26}  {:>8}",
        "", "bytes", "pack: µs, GB/s, vs loop", "unpack: µs, GB/s, vs loop", "vs copy"
    );
    for case in cases().into_iter().filter(|c| c.name.contains(&filter)) {
        let mut memory = vec![1u8; case.span + 64];
        // SAFETY: the memory has the span of the case and lives as long as the buffer.
        let buf = unsafe { Target::new(Region::typed(memory.as_mut_ptr(), case.count, &case.ty)) };
        let n = buf.len();
        let (mut packed, mut expected) = (vec![0u8; n], vec![2u8; n]);
        memory.iter_mut().enumerate().for_each(|(i, b)| *b = (i * 31) as u8);
        (case.pack)(memory.as_ptr(), expected.as_mut_ptr());
        // SAFETY: here and below, the memory has the span of the case and the packed buffers its
        // size.
        unsafe { Cursor::new().pack(&buf, packed.as_mut_ptr(), n) };
        assert!(packed == expected, "{}: the loop and the type differ", case.name);
        let hand = time(|| (case.pack)(black_box(memory.as_ptr()), black_box(packed.as_mut_ptr())));
        // SAFETY: the memory has the span of the case and the packed buffers its size.
        let ours = time(|| unsafe {
            Cursor::new().pack(black_box(&buf), black_box(packed.as_mut_ptr()), n);
        });
        let hand_un = time(|| (case.unpack)(black_box(memory.as_mut_ptr()), black_box(packed.as_ptr())));
        // SAFETY: the memory has the span of the case and the packed buffers its size.
        let ours_un = time(|| unsafe {
            Cursor::new().unpack(black_box(&buf), black_box(packed.as_ptr()), n);
        });
        let copy = time(|| black_box(&mut packed).copy_from_slice(black_box(&expected)));
        let column = |ns: f64, hand: f64| format!("{:10.2} {:7.2} {:6.2}x", ns / 1e3, n as f64 / ns, hand / ns);
        println!(
            "{:45} {:>9}  {}  {}  {:7.2}x",
            case.name,
            n,
            column(ours, hand),
            column(ours_un, hand_un),
            ours / copy
        );
    }
    commit();
}

fn commit() {
    const N: i64 = 1_000_000;
    let disps: Vec<i64> = (0..N).map(|i| i * 3 + i % 2).collect();
    let lens: Vec<i64> = (0..N).map(|i| 1 + i % 3 / 2).collect();
    let start = Instant::now();
    let ty = Datatype::indexed(lens, disps, &of(0x214)).unwrap();
    let made = start.elapsed();
    ty.commit().unwrap();
    println!("a type of {N} irregular blocks: made in {made:.1?}, committed in {:.1?}", start.elapsed() - made);
    let small = time(|| {
        let ty = Datatype::vector(100, 1, 3, &of(0x214)).unwrap();
        ty.commit().unwrap();
        black_box(ty);
    });
    println!("a vector made, committed and freed: {small:.0} ns");
}

//! Collective buffering against a serial model of the file: the parts of several processes, each with
//! a random view, offset and memory, go through windows of any length. One process plays all of them.

use oxmpi_abi::constants::MPI_BYTE;
use oxmpi_datatype::{Datatype, Region, predefined};
use oxmpi_io::{File, Image, Mode, Part, Representation, Staging, View, Walk};
use proptest::prelude::*;
use std::sync::Arc;

const FILLER: u8 = 0xa5;
const WINDOW: usize = 4096;

/// One process: its view's displacement and runs with gaps, and what it accesses.
#[derive(Clone, Debug)]
struct Process {
    disp: i64,
    runs: Vec<(i64, i64)>,
    offset: i64,
    bytes: usize,
    /// Bytes between two bytes of its memory.
    apart: usize,
}

fn process() -> impl Strategy<Value = Process> {
    let unit = prop::sample::select(&[1i64, 1, 4, 8, 32][..]);
    let runs = prop::collection::vec((1..5i64, 0..6i64), 1..5);
    (unit, 0..50i64, runs, 0..300i64, 0..2500usize, 1..3usize).prop_map(|(unit, disp, runs, offset, bytes, apart)| {
        let runs = runs.into_iter().map(|(length, gap)| (length * unit, gap * unit)).collect();
        Process { disp: disp * unit, runs, offset, bytes, apart }
    })
}

impl Process {
    fn view(&self) -> Arc<View> {
        let byte = predefined(MPI_BYTE.0).expect("a predefined type");
        let (mut lengths, mut places, mut at) = (vec![], vec![], 0);
        for (length, gap) in &self.runs {
            lengths.push(*length);
            places.push(at);
            at += length + gap;
        }
        let filetype = Datatype::resized(&Datatype::indexed(lengths, places, byte).unwrap(), 0, at).unwrap();
        filetype.commit().unwrap();
        Arc::new(View::new(self.disp, byte, &filetype, Representation::Native, true).unwrap())
    }

    /// Where its bytes lie in the file.
    fn places(&self) -> Vec<usize> {
        let extent: i64 = self.runs.iter().map(|(length, gap)| length + gap).sum();
        let mut one = Vec::new();
        let mut at = 0;
        for (length, gap) in &self.runs {
            one.extend(at..at + length);
            at += length + gap;
        }
        let count = one.len() as i64;
        let place = |number: i64| self.disp + number / count * extent + one[(number % count) as usize];
        (self.offset..self.offset + self.bytes as i64).map(|number| place(number) as usize).collect()
    }

    /// Its memory, and the region that describes it.
    fn memory(&self, bytes: &mut [u8]) -> Region {
        let byte = predefined(MPI_BYTE.0).expect("a predefined type");
        let apart = Datatype::resized(byte, 0, self.apart as i64).unwrap();
        apart.commit().unwrap();
        Region::typed(bytes.as_mut_ptr(), self.bytes as u64, &apart)
    }

    fn part(&self) -> Part {
        Part::new(self.view(), self.offset, self.bytes).unwrap()
    }
}

fn byte_of(process: usize, at: usize) -> u8 {
    (at * 7 + process * 31 + at / 251) as u8
}

struct Path(std::path::PathBuf);

impl Path {
    fn new(name: &str) -> Path {
        Path(std::env::temp_dir().join(format!("oxmpi-images-{name}-{}", std::process::id())))
    }

    fn open(&self) -> File {
        let mode = Mode::new(oxmpi_abi::constants::MPI_MODE_RDWR).unwrap();
        File::open(self.0.as_os_str().as_encoded_bytes(), mode, false, 0).unwrap()
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The windows of some parts.
fn windows(parts: &[Part], staging: &Arc<Staging>) -> Vec<Image> {
    let with_data = || parts.iter().filter(|part| !part.is_empty());
    let granule = with_data().map(Part::granule).min().unwrap_or(1);
    let start = with_data().map(|part| part.range().start).min().unwrap_or(0) / 4096 * 4096;
    let end = with_data().map(|part| part.range().end).max().unwrap_or(0).next_multiple_of(granule as u64);
    (start..end)
        .step_by(WINDOW)
        .enumerate()
        .map(|(number, at)| {
            let length = (end - at).min(WINDOW as u64) as usize;
            // SAFETY: one thread plays all processes.
            unsafe { staging.image(number % 2, at, length, granule) }
        })
        .collect()
}

/// Slices of a window at multiples of a number.
fn slices(image: &Image, count: usize) -> Vec<std::ops::Range<usize>> {
    let length = (image.window().end - image.window().start) as usize;
    let each = length.div_ceil(count).next_multiple_of(4096);
    (0..count).map(|number| (each * number).min(length)..(each * (number + 1)).min(length)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 200, ..ProptestConfig::default() })]

    /// The bytes of the processes are written, and no others; also when each process is a node of its
    /// own that sends its pieces to the first one.
    #[test]
    fn what_is_written(processes in prop::collection::vec(process(), 1..5), aggregators in 1..4usize, apart: bool) {
        let path = Path::new("written");
        let mut model = vec![FILLER; 60_000];
        std::fs::write(&path.0, &model).unwrap();
        let file = path.open();
        let mut data: Vec<Vec<u8>> = vec![];
        for (number, process) in processes.iter().enumerate() {
            data.push((0..process.bytes * process.apart).map(|at| byte_of(number, at / process.apart)).collect());
            for (at, place) in process.places().into_iter().enumerate() {
                model[place] = byte_of(number, at);
            }
        }
        // Bytes that two processes write may have either value.
        let mut writers = vec![0; model.len()];
        processes.iter().flat_map(Process::places).for_each(|place| writers[place] += 1);
        let parts: Vec<Part> = processes.iter().map(Process::part).collect();
        // SAFETY: the data lives as long as the walks.
        let mut walks: Vec<Walk> = processes.iter().zip(&parts).zip(&mut data).map(|((process, part), data)| unsafe {
            Walk::new(part.clone(), process.memory(data))
        }).collect();
        let (staging, remote) = (Arc::new(Staging::own(WINDOW)), Arc::new(Staging::own(WINDOW)));
        for (image, other) in windows(&parts, &staging).into_iter().zip(windows(&parts, &remote)) {
            let turns = walks.len();
            for (turn, walk) in walks.iter_mut().enumerate() {
                if apart && turn > 0 {
                    other.fill(walk, (0, 1));
                    image.unpack(&other.pack());
                } else {
                    image.fill(walk, (turn, turns));
                }
            }
            for slice in slices(&image, aggregators) {
                image.save(&file, slice).unwrap();
            }
        }
        let found = std::fs::read(&path.0).unwrap();
        for place in 0..model.len() {
            prop_assert!(writers[place] > 1 || found[place] == model[place], "byte {}", place);
        }
        prop_assert_eq!(found.len(), model.len());
    }

    /// Each process gets its bytes, up to the end of the file.
    #[test]
    fn what_is_read(processes in prop::collection::vec(process(), 1..5), size in 0..20_000usize, apart: bool) {
        let path = Path::new("read");
        let content: Vec<u8> = (0..size).map(|at| byte_of(9, at)).collect();
        std::fs::write(&path.0, &content).unwrap();
        let file = path.open();
        let parts: Vec<Part> = processes.iter().map(Process::part).collect();
        let mut data: Vec<Vec<u8>> = processes.iter().map(|process| vec![FILLER; process.bytes * process.apart]).collect();
        // SAFETY: the data lives as long as the walks.
        let mut walks: Vec<Walk> = processes.iter().zip(&parts).zip(&mut data).map(|((process, part), data)| unsafe {
            Walk::new(part.clone(), process.memory(data))
        }).collect();
        let (staging, remote) = (Arc::new(Staging::own(WINDOW)), Arc::new(Staging::own(WINDOW)));
        let mut got = vec![(true, 0); walks.len()];
        for (image, other) in windows(&parts, &staging).into_iter().zip(windows(&parts, &remote)) {
            let length = (image.window().end - image.window().start) as usize;
            let end = image.window().start + image.load(&file, 0..length).unwrap() as u64;
            for (number, walk) in walks.iter_mut().enumerate() {
                let (whole, bytes) = if apart && number > 0 {
                    other.want(walk);
                    let (wanted, runs) = other.pack_marks();
                    let mut words = Vec::new();
                    image.append(&mut words, &image.runs_of(&wanted));
                    other.take(&words, &runs);
                    other.fetch(walk, end)
                } else {
                    image.fetch(walk, end)
                };
                if got[number].0 {
                    got[number] = (whole, got[number].1 + bytes);
                }
            }
        }
        drop(walks);
        for (number, process) in processes.iter().enumerate() {
            let places = process.places();
            let there = places.iter().take_while(|place| **place < size).count();
            prop_assert_eq!(got[number].1, there);
            for (at, place) in places[..there].iter().enumerate() {
                prop_assert_eq!(data[number][at * process.apart], content[*place]);
            }
        }
    }
}

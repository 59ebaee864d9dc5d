//! The serial model of files. Each rank writes and reads its own part through a view with gaps; or
//! all write at the shared pointer, where the order of some records is not defined.

use super::program::mix;

#[derive(Clone, Debug)]
pub struct FileUse {
    pub comm: usize,
    /// Consecutive numbers of a rank in the file, before those of the next rank.
    pub block: usize,
    /// The blocks of all ranks are followed by gaps of so many times their length, less one.
    pub spread: usize,
    /// Whether collective accesses are always buffered, not only where it is faster.
    pub buffered: bool,
    /// Whether all use the shared pointer instead of their own views.
    pub shared: bool,
    pub actions: Vec<FileAction>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileAction {
    pub kind: FileKind,
    pub offset: usize,
    pub count: usize,
    /// Whether the collective function is used.
    pub together: bool,
    /// Whether it is started, and completed with a request.
    pub request: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    WriteAt,
    /// At the individual file pointer.
    Write,
    ReadAt,
}

/// Numbers of each rank in the file.
pub const LENGTH: usize = 40;
/// Numbers of a record at the shared pointer.
pub const RECORD: usize = 3;

/// An action as one rank makes it.
#[derive(Clone, Debug)]
pub struct RankAction {
    pub kind: FileKind,
    pub together: bool,
    pub request: bool,
    /// In numbers of the rank's view; the individual pointer for [`FileKind::Write`].
    pub offset: usize,
    /// The numbers to write, or as many zeroes as are read.
    pub numbers: Vec<i32>,
}

impl FileUse {
    /// The actions of a rank on its own numbers, after all of them were set to 0.
    pub fn own_actions(&self, step: usize, rank: usize) -> Vec<RankAction> {
        let mut pointer = 0;
        let each = |(index, action): (usize, &FileAction)| {
            // Ranks do different things in the same call.
            let wanted = (action.count + rank) % 7;
            let offset = match action.kind {
                FileKind::Write => pointer,
                _ => (action.offset + 3 * rank) % LENGTH,
            };
            let count = wanted.min(LENGTH - offset);
            if action.kind == FileKind::Write {
                pointer += count;
            }
            let word = |place: usize| (mix(step as u32, 10 * index + rank, place + 200) % 1000) as i32;
            let numbers = match action.kind {
                FileKind::ReadAt => vec![0; count],
                _ => (0..count).map(word).collect(),
            };
            RankAction { kind: action.kind, together: action.together, request: action.request, offset, numbers }
        };
        self.actions.iter().enumerate().map(each).collect()
    }

    /// What a rank writes at the shared pointer: in rank order, or a record in any order.
    pub fn shared_action(&self, step: usize, index: usize, rank: usize) -> (bool, Vec<i32>) {
        let action = self.actions[index];
        let count = if action.together { (action.count + rank) % 5 } else { RECORD };
        let word = |place: usize| (mix(step as u32, 10 * index + rank, place + 300) % 1000) as i32;
        (action.together, (0..count).map(word).collect())
    }

    /// The distance between two blocks of a rank.
    pub fn stride(&self, ranks: usize) -> usize {
        self.block.max(1) * ranks * self.spread.max(1)
    }

    /// The position in the file of a number of a rank's view.
    pub fn place(&self, rank: usize, ranks: usize, number: usize) -> usize {
        let block = self.block.max(1);
        number / block * self.stride(ranks) + rank * block + number % block
    }

    /// What a rank sees: what it reads and, on the first one, the final content of the file.
    pub fn seen(&self, step: usize, rank: usize, ranks: usize) -> Vec<i32> {
        let mut seen = Vec::new();
        let mut file = Vec::new();
        if self.shared {
            for index in 0..self.actions.len() {
                let all: Vec<_> = (0..ranks).map(|rank| self.shared_action(step, index, rank)).collect();
                file.extend(all.into_iter().flat_map(|(_, numbers)| numbers));
            }
            self.sort_records(step, ranks, &mut file);
        } else {
            file = vec![0; LENGTH.div_ceil(self.block.max(1)) * self.stride(ranks)];
            for member in 0..ranks {
                for action in self.own_actions(step, member) {
                    for (index, number) in action.numbers.iter().enumerate() {
                        let place = self.place(member, ranks, action.offset + index);
                        match action.kind {
                            FileKind::ReadAt if member == rank => seen.push(file[place]),
                            FileKind::ReadAt => {}
                            _ => file[place] = *number,
                        }
                    }
                }
            }
            // Nothing is written after the last number.
            let end = (0..ranks).map(|member| self.place(member, ranks, LENGTH - 1) + 1).max().unwrap_or(0);
            file.truncate(end);
        }
        if rank == 0 {
            seen.extend(file);
        }
        seen
    }

    /// Sorts records whose order is undefined.
    pub fn sort_records(&self, step: usize, ranks: usize, file: &mut [i32]) {
        let mut start = 0;
        for index in 0..self.actions.len() {
            let lengths = (0..ranks).map(|rank| self.shared_action(step, index, rank));
            let (mut length, mut is_ordered) = (0, false);
            for (ordered, numbers) in lengths {
                length += numbers.len();
                is_ordered |= ordered;
            }
            let end = (start + length).min(file.len());
            if !is_ordered {
                let part = &mut file[start..end];
                let mut records: Vec<Vec<i32>> = part.chunks(RECORD).map(<[i32]>::to_vec).collect();
                records.sort();
                records.concat().into_iter().zip(part).for_each(|(number, place)| *place = number);
            }
            start = end;
        }
    }
}

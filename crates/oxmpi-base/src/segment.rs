//! The segment that all ranks of a job on one node share: a memfd that `mpirun` creates and the
//! ranks inherit, so that no name is left behind, whichever process dies. It is sparse: a page uses
//! memory only after a write to it.
//!
//! ```text
//! | job header | rank blocks | wait records | hints | rest records | suspects | findings | doorbells | foreign senders | ports | table of nodes | deaths | votes |
//! | offer cells | rings |
//! | arenas | rings of foreign senders |
//! ```
//!
//! There is a ring for each ordered pair of ranks. The parts of the first line of the picture are
//! mapped as a whole. Arenas (see `arena.rs`) and the rings of foreign senders
//! (`foreign_senders.rs`) are large and mostly holes; they are mapped piece by piece.
//!
//! Every field that two processes access is atomic. Zero, the content of a new memfd, is the
//! initial value of each field.

use crate::arena::Area;
use crate::finding_log::FindingLog;
use crate::foreign_senders::{FOREIGN_CELLS, FOREIGN_SENDERS, ForeignSender};
use crate::rest_record::RestRecord;
use crate::seq_record::SeqRecord;
use crate::sync::shared::{AtomicI32, AtomicU32, AtomicU64};
use crate::votes;
use crate::wait_record::WaitRecord;
use crate::{descriptors, limits, thread_checker, trust};
use std::fs::{File, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

/// Changes with the layout: a rank never attaches to a segment of another version's `mpirun`.
const MAGIC: u64 = u64::from_le_bytes(*b"OxMPI\x00\x00\x11");

pub const CACHE_LINE: usize = 64;
pub const PAGE: usize = 4096;
pub(crate) const HUGE_PAGE: usize = 2 << 20;

/// More ranks than any job on one node has; the sizes for this number can still be computed.
const MOST_RANKS: usize = 1 << 20;

/// The file cannot be shrunk, and no process can add a seal that forbids writing.
const SEALS: i32 = libc::F_SEAL_SHRINK | libc::F_SEAL_SEAL;

/// Number of ports that the ranks of a job can have open at a time.
pub const PORTS: usize = 4096;

/// Number of words for the table of nodes, which `oxmpi_boot::nodes` defines: enough for 16,384 nodes of
/// any sizes.
pub const NODE_WORDS: usize = 1 << 18;

/// Number of words for the set of ranks that are asked whether they are stuck: a bit for each rank of the job, on all its nodes.
pub const SUSPECT_WORDS: usize = MOST_RANKS / 64;

/// Number of offer cells of a rank for operations that wait for their peer (see `offer_cell.rs`).
pub const OFFER_CELLS: usize = 1 << 16;

#[repr(C, align(64))]
pub struct JobHeader {
    magic: AtomicU64,
    ranks: AtomicU32,
    ring_cells: AtomicU32,
    /// CPUs that the job may use, as `mpirun` counted them (affinity mask and cgroup quota).
    pub cpus: AtomicU32,
    /// Number of ranks that have published that they can do nothing before others act (see `rest_record.rs`).
    pub resting: AtomicI32,
    /// Set when a rank has told the user that it reaches other nodes over TCP though a fabric was wanted.
    told_of_tcp: AtomicU32,
    /// A debugger holds the ranks in `MPI_Init` (see `hold.rs`).
    pub(crate) held: AtomicU32,
    _pad: [u8; 28],
    /// Number of ranks that are attached and not asleep, plus foreign senders. While it is not
    /// above the number of CPUs, spinning costs nothing.
    pub awake: AtomicI32,
}

impl JobHeader {
    /// Whether no rank of the node has told of TCP instead of a fabric before.
    pub fn tells_of_tcp(&self) -> bool {
        self.told_of_tcp.swap(1, Relaxed) == 0
    }

    /// Whether the job has no more ranks than CPUs.
    pub fn has_cpu_for_all(&self) -> bool {
        self.ranks.load(Relaxed) <= self.cpus.load(Relaxed)
    }
}

/// The shared state of one rank. Each purpose has its own cache line, so that a line that a rank
/// writes often is not one that its peers read often.
#[repr(C, align(64))]
pub struct RankBlock {
    /// The MPI call that the rank is in: a function number, with [`IN_CALL`] set until the call
    /// returns.
    pub call: AtomicU32,
    _pad0: [u8; 60],
    /// Process id, once attached.
    pub pid: AtomicU32,
    /// One of the `STATE_*` values.
    pub state: AtomicU32,
    /// The code given to `MPI_Abort`, valid once `state` is [`STATE_ABORTED`].
    pub abort_code: AtomicI32,
    /// Set when the rank begins to finalize: it will receive nothing more.
    pub leaving: AtomicU32,
    /// The first of the CPUs that `mpirun` bound the rank to, plus one; 0 if it is not bound. Set
    /// before any rank starts.
    pub cpu: AtomicU32,
    /// The rank's relation to the processes that spawned the job: one of the `PARENTS_*` values.
    pub parents: AtomicU32,
    /// Where the rank has been waiting for a while, with words for its current call and the one
    /// before.
    pub waiting: SeqRecord<2>,
    /// Set when the rank's ends of rings and its offer cells are in use (see `own_slot.rs`).
    pub(crate) ends: AtomicU32,
    /// Set once the rank has called `MPI_Finalize`: it never uses `MPI_COMM_WORLD` or what was made
    /// from it again. It may still open sessions.
    pub world_ended: AtomicU32,
    _pad1: [u8; 8],
    /// The futex word that the rank sleeps on (see `wait.rs`).
    pub sleep: AtomicU32,
    /// The last place where the rank found other ranks in a different call: its record `waiting`
    /// from there, for the others to find.
    pub differed: SeqRecord<2>,
    /// When the rank was last woken, in nanoseconds of the monotonic clock.
    pub woken_at: AtomicU64,
    /// Where the rank's pipe can be opened, if it sleeps there: a process, the number of a descriptor in it, and the
    /// pipe's inode, since a process may close a pipe and open another one (see `wake_pipe.rs`).
    pub wake_pid: AtomicU32,
    pub wake_fd: AtomicU32,
    pub wake_inode: AtomicU64,
    /// The number of deaths that the rank has handled.
    pub(crate) seen_deaths: AtomicU32,
    /// One of the `DOOMED_*` values.
    pub doomed: AtomicU32,
}

pub const IN_CALL: u32 = 1 << 31;

/// The process of the rank has not called `MPI_Init` (it may not be an MPI program).
pub const STATE_ABSENT: u32 = 0;
pub const STATE_RUNNING: u32 = 1;
pub const STATE_FINALIZED: u32 = 2;
/// The rank called `MPI_Abort` or had a fatal error, and has reported it on stderr.
pub const STATE_ABORTED: u32 = 3;

/// A rank has called `MPI_Abort` for a communicator that this rank is in, of a part of the job: `mpirun` ends this rank.
pub const DOOMED_PART: u32 = 1;
/// This rank has called `MPI_Abort` for a communicator of the whole job.
pub const DOOMED_JOB: u32 = 2;

/// The rank was not spawned, or has not begun to connect to its parents.
pub const PARENTS_NONE: u32 = 0;
/// It is connected: its failure affects its parents.
pub const PARENTS_CONNECTED: u32 = 1;
/// It has disconnected from them.
pub const PARENTS_LEFT: u32 = 2;
/// It is disconnecting: it is disconnected when the first rank is.
pub const PARENTS_LEAVING: u32 = 3;

/// So many communicators, windows and files of a job can be revoked.
pub const MOST_REVOKED: usize = 65_536;

/// The head of the log of deaths, in a page of its own (see `death_log.rs`). Only the process that has created the segment can
/// write it, and the log behind it.
#[repr(C, align(4096))]
pub(crate) struct DeathHead {
    /// Set when the ranks go on after some of them have died.
    pub goes_on: AtomicU32,
    /// The number of deaths in the log.
    pub deaths: AtomicU32,
}
const _: () = assert!(size_of::<DeathHead>() == PAGE);

/// Bytes of the log of deaths: its head, and a word for each rank of the job on all its nodes. Whole pages.
const DEATH_BYTES: usize = PAGE + MOST_RANKS * 8;
const _: () = assert!(DEATH_BYTES.is_multiple_of(PAGE) && (MOST_REVOKED * 8).is_multiple_of(PAGE));

/// The layout of a segment for a given number of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub ranks: usize,
    pub ring_cells: usize,
    blocks: usize,
    records: usize,
    hints: usize,
    rests: usize,
    suspects: usize,
    findings: usize,
    doorbells: usize,
    doorbell_stride: usize,
    foreign_senders: usize,
    foreign_bits: usize,
    ports: usize,
    nodes: usize,
    deaths: usize,
    votes: usize,
    offer_cells: usize,
    rings: usize,
    ring_stride: usize,
    /// The end of the part that every process maps.
    mapped: usize,
    arena_stride: usize,
}

/// Bytes of a ring from a foreign sender to a rank: whole pages.
const FOREIGN_STRIDE: usize = (FOREIGN_CELLS + 1) * CACHE_LINE;
const _: () = assert!(FOREIGN_STRIDE.is_multiple_of(PAGE));

/// The range of all arenas together, and of one: addresses of a sparse file, not memory.
const ARENAS: usize = 1 << 44;
const ARENA: usize = 1 << 40;

impl Layout {
    /// Rings become smaller with more ranks, because there is one for each ordered pair. They use
    /// memory only where messages are sent.
    pub fn for_ranks(ranks: usize) -> Layout {
        let ring_lines = match ranks {
            0..=16 => 2048,
            17..=64 => 1024,
            65..=256 => 512,
            _ => 256,
        };
        Layout::new(ranks, ring_lines - 1)
    }

    fn new(ranks: usize, ring_cells: usize) -> Layout {
        let up = |n: usize, to: usize| n.div_ceil(to) * to;
        let blocks = PAGE;
        let records = blocks + up(ranks * size_of::<RankBlock>(), PAGE);
        let hints = records + up(ranks * size_of::<WaitRecord>(), PAGE);
        let rests = hints + up(ranks * size_of::<WaitRecord>(), PAGE);
        let suspects = rests + up(ranks * size_of::<RestRecord>(), PAGE);
        let findings = suspects + SUSPECT_WORDS * 8;
        let doorbells = findings + up(ranks * size_of::<FindingLog>(), PAGE);
        // One word more: the bell of foreign senders.
        let doorbell_stride = up((1 + ranks.div_ceil(64)) * 8, CACHE_LINE);
        let foreign_senders = doorbells + up(ranks * doorbell_stride, PAGE);
        let foreign_bits = foreign_senders + FOREIGN_SENDERS * size_of::<ForeignSender>();
        let ports = foreign_bits + up(ranks * FOREIGN_SENDERS / 8, PAGE);
        let nodes = ports + PORTS * 8;
        let deaths = nodes + NODE_WORDS * 4;
        let votes = deaths + DEATH_BYTES + MOST_REVOKED * 8;
        let offer_cells = votes + up(ranks * votes::PLACES * size_of::<votes::Place>(), PAGE);
        let rings = offer_cells + ranks * OFFER_CELLS * CACHE_LINE;
        let ring_stride = (ring_cells + 1) * CACHE_LINE;
        let mapped = up(rings + ranks * ranks * ring_stride, HUGE_PAGE);
        let arena_stride = (ARENAS / ranks.max(1)).min(ARENA) & !(HUGE_PAGE - 1);
        Layout {
            ranks,
            ring_cells,
            blocks,
            records,
            hints,
            rests,
            suspects,
            findings,
            doorbells,
            doorbell_stride,
            foreign_senders,
            foreign_bits,
            ports,
            nodes,
            deaths,
            votes,
            offer_cells,
            rings,
            ring_stride,
            mapped,
            arena_stride,
        }
    }

    /// The range of the rank's arena in the file: start and end.
    pub(crate) fn arena(&self, rank: usize) -> (usize, usize) {
        let start = self.mapped + rank * self.arena_stride;
        (start, start + self.arena_stride)
    }

    /// Whether an area lies in the part of the file that has the arenas of all ranks.
    pub fn is_in_arenas(&self, area: Area) -> bool {
        let end = area.offset.checked_add(area.bytes);
        area.offset >= self.mapped && end.is_some_and(|end| end <= self.arena(self.ranks).0)
    }

    /// The ring from a foreign sender to a rank.
    pub fn foreign_ring(&self, foreign_sender: usize, rank: usize) -> Area {
        assert!(foreign_sender < FOREIGN_SENDERS && rank < self.ranks);
        Area {
            offset: self.arena(self.ranks).0 + (foreign_sender * self.ranks + rank) * FOREIGN_STRIDE,
            bytes: FOREIGN_STRIDE,
        }
    }

    /// All rings of a foreign sender, in the order of ranks.
    pub fn foreign_rings(&self, foreign_sender: usize) -> Area {
        Area { bytes: self.ranks * FOREIGN_STRIDE, ..self.foreign_ring(foreign_sender, 0) }
    }

    fn file_length(&self) -> usize {
        self.arena(self.ranks).0 + FOREIGN_SENDERS * self.ranks * FOREIGN_STRIDE
    }
}

/// A mapping of the segment, unmapped on drop.
pub struct Segment {
    base: NonNull<u8>,
    layout: Layout,
    /// For mapping further parts of it.
    file: OwnedFd,
}

// SAFETY: the mapping is plain shared memory that lives until drop, and everything reached through
// `&Segment` is atomic or handed out as a raw pointer.
unsafe impl Send for Segment {}
// SAFETY: through `&Segment` only atomics are accessed, and raw pointers handed out.
unsafe impl Sync for Segment {}

impl Segment {
    /// Creates a segment for `ranks` ranks. The descriptor is close-on-exec; a launcher clears that
    /// flag for its children.
    pub fn create(ranks: usize, cpus: u32) -> io::Result<(OwnedFd, Segment)> {
        let layout = Layout::for_ranks(ranks);
        // SAFETY: the name is a NUL-terminated literal.
        let fd = unsafe { libc::memfd_create(c"oxmpi".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` was just created and is owned here alone.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let file = File::from(fd);
        let length = layout.file_length() as u64;
        // Beyond the limit, the kernel would also send a signal that ends the process.
        if limits::of(libc::RLIMIT_FSIZE).0 < length {
            return Err(io::Error::from_raw_os_error(libc::EFBIG));
        }
        file.set_len(length)?;
        file.set_permissions(Permissions::from_mode(0o600))?;
        let fd = OwnedFd::from(file);
        // A process that shrinks the file would end all others that have it mapped. Growing stays
        // possible.
        // SAFETY: plain numbers; the descriptor is open.
        if unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, SEALS) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let segment = Segment::map(fd.as_fd(), layout)?;
        let header = segment.header();
        header.ranks.store(ranks as u32, Relaxed);
        header.ring_cells.store(layout.ring_cells as u32, Relaxed);
        header.cpus.store(cpus, Relaxed);
        header.magic.store(MAGIC, Relaxed);
        Ok((fd, segment))
    }

    /// Maps a segment that another process created. Its content is not trusted before the file is
    /// known to belong to this user or root, to be sealed against shrinking, and to have the length
    /// that its header implies. The log of deaths can only be read.
    pub fn attach(fd: BorrowedFd<'_>) -> io::Result<Segment> {
        let refuse = |text: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        let found = File::from(fd.try_clone_to_owned()?).metadata()?;
        if !found.is_file() || found.len() < PAGE as u64 {
            return refuse("it is no segment");
        }
        if !trust::believes(found.uid()) {
            return refuse("it belongs to another user");
        }
        // SAFETY: plain numbers; the descriptor is open.
        let seals = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GET_SEALS) };
        if seals < 0 || seals & SEALS != SEALS {
            return refuse("it is not sealed against being cut");
        }
        let head = Segment::map(fd, Layout { mapped: PAGE, ..Layout::new(0, 0) })?;
        let header = head.header();
        if header.magic.load(Relaxed) != MAGIC {
            return Err(io::Error::other("the job's segment was made by another version of OxMPI's mpirun"));
        }
        let ranks = header.ranks.load(Relaxed) as usize;
        if !(1..=MOST_RANKS).contains(&ranks) {
            return refuse("its header is damaged");
        }
        let layout = Layout::for_ranks(ranks);
        if header.ring_cells.load(Relaxed) as usize != layout.ring_cells || found.len() < layout.file_length() as u64 {
            return refuse("its header is damaged");
        }
        let segment = Segment::map(fd, layout)?;
        segment.protect_deaths()?;
        Ok(segment)
    }

    /// Makes the log of deaths read-only in this mapping: a process that runs wild cannot invent deaths.
    fn protect_deaths(&self) -> io::Result<()> {
        let start = self.at::<u8>(self.layout.deaths);
        // SAFETY: the log is whole pages of this mapping, as the layout has it, and nothing in this process writes them.
        match unsafe { libc::mprotect(start.as_ptr().cast(), DEATH_BYTES, libc::PROT_READ) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn map(fd: BorrowedFd<'_>, layout: Layout) -> io::Result<Segment> {
        let file = descriptors::keep(fd)?;
        Ok(Segment { base: map_shared(fd, 0, layout.mapped)?, layout, file })
    }

    /// The descriptor of this mapping.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Zeroes a part of the file that is no longer in use, and returns its memory to the kernel;
    /// `false` if the kernel cannot.
    pub fn clear(&self, area: Area) -> bool {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        let (offset, bytes) = (area.offset as libc::off_t, area.bytes as libc::off_t);
        // SAFETY: plain numbers; the caller promises that the range is not in use.
        unsafe { libc::fallocate(self.file.as_raw_fd(), mode, offset, bytes) == 0 }
    }

    /// Bytes of memory that the segment uses, for all ranks together; 0 if the kernel does not
    /// tell.
    pub fn memory(&self) -> u64 {
        // SAFETY: the zero pattern is a valid value of the structure.
        let mut facts: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: the descriptor is open and the place may be written.
        let answer = unsafe { libc::fstat(self.file.as_raw_fd(), &mut facts) };
        // `st_blocks` counts units of 512 bytes, whatever the block size of the file.
        if answer == 0 { facts.st_blocks as u64 * 512 } else { 0 }
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    pub fn ranks(&self) -> usize {
        self.layout.ranks
    }

    pub fn header(&self) -> &JobHeader {
        // SAFETY: the header is the mapping's first page, page-aligned, all atomics.
        unsafe { self.base.cast().as_ref() }
    }

    #[inline]
    pub fn rank(&self, rank: usize) -> &RankBlock {
        self.get(rank).expect("a rank of the job")
    }

    /// The block of a rank; `None` if there is no such rank.
    #[inline]
    pub fn get(&self, rank: usize) -> Option<&RankBlock> {
        if rank >= self.layout.ranks {
            return None;
        }
        // SAFETY: in bounds by the layout, 64-byte aligned, all atomics.
        Some(unsafe { self.at::<RankBlock>(self.layout.blocks + rank * size_of::<RankBlock>()).as_ref() })
    }

    /// What a rank waits for, in words.
    pub fn wait_record(&self, rank: usize) -> &WaitRecord {
        assert!(rank < self.layout.ranks);
        // SAFETY: in bounds by the layout, 64-byte aligned, all atomics.
        unsafe { self.at::<WaitRecord>(self.layout.records + rank * size_of::<WaitRecord>()).as_ref() }
    }

    /// Why a rank may wait in vain, in words.
    pub fn hint(&self, rank: usize) -> &WaitRecord {
        assert!(rank < self.layout.ranks);
        // SAFETY: in bounds by the layout, 64-byte aligned, all atomics.
        unsafe { self.at::<WaitRecord>(self.layout.hints + rank * size_of::<WaitRecord>()).as_ref() }
    }

    /// Which ranks must act before a rank can.
    pub fn rest_record(&self, rank: usize) -> &RestRecord {
        assert!(rank < self.layout.ranks);
        // SAFETY: in bounds by the layout, 64-byte aligned, all atomics.
        unsafe { self.at::<RestRecord>(self.layout.rests + rank * size_of::<RestRecord>()).as_ref() }
    }

    /// The ranks of the job, on all its nodes, that the last question goes to: a bit for each. Written before it is asked.
    pub fn suspects(&self) -> &[AtomicU64] {
        self.words(self.layout.suspects, SUSPECT_WORDS)
    }

    /// What a rank has found wrong with the program.
    pub fn finding_log(&self, rank: usize) -> &FindingLog {
        assert!(rank < self.layout.ranks);
        // SAFETY: in bounds by the layout, 64-byte aligned, all atomics.
        unsafe { self.at::<FindingLog>(self.layout.findings + rank * size_of::<FindingLog>()).as_ref() }
    }

    /// The bitmap in which a sender sets its bit, once, when it starts to use its ring to `rank`.
    pub fn doorbell(&self, rank: usize) -> &[AtomicU64] {
        assert!(rank < self.layout.ranks);
        // The first word is the bell of foreign senders.
        self.words(self.layout.doorbells + rank * self.layout.doorbell_stride + 8, self.layout.ranks.div_ceil(64))
    }

    /// Counts events of foreign senders for `rank`: connected and left. It lies beside the rank's
    /// doorbell.
    #[inline]
    pub fn foreign_bell(&self, rank: usize) -> &AtomicU64 {
        assert!(rank < self.layout.ranks);
        &self.words(self.layout.doorbells + rank * self.layout.doorbell_stride, 1)[0]
    }

    /// The bitmap of foreign senders that have a ring to `rank` in use.
    pub fn foreign_bits(&self, rank: usize) -> &[AtomicU64] {
        assert!(rank < self.layout.ranks);
        self.words(self.layout.foreign_bits + rank * (FOREIGN_SENDERS / 8), FOREIGN_SENDERS / 64)
    }

    pub fn foreign_sender(&self, foreign_sender: usize) -> &ForeignSender {
        assert!(foreign_sender < FOREIGN_SENDERS);
        // SAFETY: in bounds by the layout, 64-byte aligned, all atomics.
        unsafe {
            self.at::<ForeignSender>(self.layout.foreign_senders + foreign_sender * size_of::<ForeignSender>()).as_ref()
        }
    }

    /// One word for each port that is or was open: how often it was opened (high 32 bits), and its
    /// owner plus one, or 0.
    pub fn ports(&self) -> &[AtomicU64] {
        self.words(self.layout.ports, PORTS)
    }

    /// The table of nodes, as `mpirun` stores it.
    pub fn node_words(&self) -> &[AtomicU32] {
        // SAFETY: the layout has as many words there, 4-byte aligned, inside the mapping, all atomics.
        unsafe { std::slice::from_raw_parts(self.at::<AtomicU32>(self.layout.nodes).as_ptr(), NODE_WORDS) }
    }

    pub(crate) fn death_head(&self) -> &DeathHead {
        // SAFETY: in bounds by the layout, a page of its own, all atomics.
        unsafe { self.at::<DeathHead>(self.layout.deaths).as_ref() }
    }

    /// The log of deaths: a word for each rank of the job, on all its nodes.
    pub(crate) fn death_words(&self) -> &[AtomicU64] {
        self.words(self.layout.deaths + PAGE, MOST_RANKS)
    }

    /// The contexts that were revoked.
    pub(crate) fn revoked_words(&self) -> &[AtomicU64] {
        self.words(self.layout.votes - MOST_REVOKED * 8, MOST_REVOKED)
    }

    /// A place for the votes of a rank.
    pub(crate) fn place(&self, rank: usize, index: usize) -> &votes::Place {
        assert!(rank < self.layout.ranks && index < votes::PLACES);
        let offset = self.layout.votes + (rank * votes::PLACES + index) * size_of::<votes::Place>();
        // SAFETY: in bounds by the layout, 64-byte aligned, all atomics.
        unsafe { self.at::<votes::Place>(offset).as_ref() }
    }

    #[inline]
    fn words(&self, offset: usize, count: usize) -> &[AtomicU64] {
        // SAFETY: every caller's range lies inside the mapping by the layout, 8-byte aligned, all
        // atomics.
        unsafe { std::slice::from_raw_parts(self.at::<AtomicU64>(offset).as_ptr(), count) }
    }

    /// The first of `rank`'s [`OFFER_CELLS`] offer cells.
    pub(crate) fn offer_cells(&self, rank: usize) -> NonNull<u8> {
        assert!(rank < self.layout.ranks);
        self.at(self.layout.offer_cells + rank * OFFER_CELLS * CACHE_LINE)
    }

    /// The ring from one rank to another: one header line, then the cells.
    pub(crate) fn ring(&self, from: usize, to: usize) -> NonNull<u8> {
        assert!(from < self.layout.ranks && to < self.layout.ranks);
        self.at(self.layout.rings + (to * self.layout.ranks + from) * self.layout.ring_stride)
    }

    fn at<T>(&self, offset: usize) -> NonNull<T> {
        debug_assert!(offset < self.layout.mapped);
        // SAFETY: every caller's offset comes from the layout and lies inside the mapping.
        unsafe { self.base.add(offset).cast() }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing borrows from it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.layout.mapped) };
    }
}

/// Maps a part of a file, shared.
pub(crate) fn map_shared(fd: BorrowedFd<'_>, offset: usize, bytes: usize) -> io::Result<NonNull<u8>> {
    // SAFETY: the kernel picks the address, so nothing that exists is touched.
    let base = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_NORESERVE,
            fd.as_raw_fd(),
            offset as libc::off_t,
        )
    };
    match NonNull::new(base.cast::<u8>()) {
        Some(base) if base.as_ptr().cast() != libc::MAP_FAILED => {
            thread_checker::ignore(base.as_ptr().addr(), bytes);
            Ok(base)
        }
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the addresses and the rights of all mappings of this process.
    #[test]
    fn only_the_creator_can_write_the_log_of_deaths() {
        let rights_at = |address: usize| {
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            let number = |text: &str| usize::from_str_radix(text, 16).unwrap();
            let has = |line: &&str| {
                let (start, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
                (number(start)..number(end)).contains(&address)
            };
            maps.lines().find(has).unwrap().split(' ').nth(1).unwrap().to_owned()
        };
        let (fd, creator) = Segment::create(3, 2).unwrap();
        let other = Segment::attach(fd.as_fd()).unwrap();
        let last = MOST_RANKS - 1;
        for segment in [&creator, &other] {
            let log = [
                (&raw const *segment.death_head()).addr(),
                (&raw const segment.death_words()[0]).addr(),
                (&raw const segment.death_words()[last]).addr(),
            ];
            let expected = if std::ptr::eq(segment, &creator) { "rw-s" } else { "r--s" };
            assert!(log.iter().all(|&address| rights_at(address) == expected));
            let others = [
                (&raw const *segment.header()).addr(),
                (&raw const segment.node_words()[NODE_WORDS - 1]).addr(),
                (&raw const segment.revoked_words()[0]).addr(),
                (&raw const *segment.place(0, 0)).addr(),
            ];
            assert!(others.iter().all(|&address| rights_at(address) == "rw-s"));
        }
    }

    #[test]
    fn a_second_mapping_sees_the_same_ranks() {
        let (fd, a) = Segment::create(5, 2).unwrap();
        let b = Segment::attach(fd.as_fd()).unwrap();
        assert_eq!(a.layout(), b.layout());
        a.rank(4).pid.store(77, Relaxed);
        assert_eq!(b.rank(4).pid.load(Relaxed), 77);
        assert_eq!(b.header().cpus.load(Relaxed), 2);
    }

    #[test]
    fn areas_do_not_overlap() {
        for ranks in [1, 2, 63, 64, 65, 300] {
            let l = Layout::for_ranks(ranks);
            assert!(l.blocks + ranks * size_of::<RankBlock>() <= l.records);
            assert!(l.records + ranks * size_of::<WaitRecord>() <= l.hints);
            assert!(l.hints + ranks * size_of::<WaitRecord>() <= l.rests);
            assert!(l.rests + ranks * size_of::<RestRecord>() <= l.findings);
            assert!(l.findings + ranks * size_of::<FindingLog>() <= l.doorbells);
            assert!(l.doorbells + ranks * l.doorbell_stride <= l.foreign_senders);
            assert!((1 + ranks.div_ceil(64)) * 8 <= l.doorbell_stride);
            assert!(l.foreign_senders + FOREIGN_SENDERS * size_of::<ForeignSender>() <= l.foreign_bits);
            assert!(l.foreign_bits + ranks * FOREIGN_SENDERS / 8 <= l.ports);
            assert!(l.ports + PORTS * 8 <= l.nodes);
            assert!(l.nodes + NODE_WORDS * 4 <= l.deaths);
            assert!(l.deaths + DEATH_BYTES <= l.votes);
            assert!(l.votes + ranks * votes::PLACES * size_of::<votes::Place>() <= l.offer_cells);
            assert!(l.ring_cells <= FOREIGN_CELLS);
            assert_eq!(l.offer_cells + ranks * OFFER_CELLS * CACHE_LINE, l.rings);
            assert!(l.rings + ranks * ranks * l.ring_stride <= l.arena(0).0);
            assert_eq!(l.arena(ranks - 1).1, l.foreign_ring(0, 0).offset);
            let last = l.foreign_ring(FOREIGN_SENDERS - 1, ranks - 1);
            assert_eq!(last.offset + last.bytes, l.file_length());
        }
    }

    #[test]
    fn a_segment_cannot_be_cut() {
        let (fd, segment) = Segment::create(2, 1).unwrap();
        let file = File::from(fd);
        let length = file.metadata().unwrap().len();
        assert!(file.set_len(0).is_err() && file.set_len(length - 1).is_err());
        assert!(file.set_len(length + PAGE as u64).is_ok());
        // SAFETY: plain numbers; the descriptor is open.
        assert!(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_FUTURE_WRITE) } < 0);
        assert!(Segment::attach(file.as_fd()).is_ok());
        drop(segment);
    }

    #[test]
    fn a_damaged_or_unsealed_segment_is_refused() {
        let (fd, segment) = Segment::create(2, 1).unwrap();
        let refused = |fd: BorrowedFd<'_>| Segment::attach(fd).map(drop).unwrap_err().to_string();
        for ranks in [0, 3, 1 << 20, u32::MAX] {
            segment.header().ranks.store(ranks, Relaxed);
            assert!(refused(fd.as_fd()).contains("damaged"), "{ranks}");
        }
        segment.header().ranks.store(2, Relaxed);
        segment.header().ring_cells.store(u32::MAX, Relaxed);
        assert!(refused(fd.as_fd()).contains("damaged"));
        segment.header().ring_cells.store(segment.layout().ring_cells as u32, Relaxed);
        assert!(Segment::attach(fd.as_fd()).is_ok());
        let open = File::options().read(true).write(true).open("/dev/null").unwrap();
        assert!(refused(open.as_fd()).contains("no segment"));
        let path = std::env::temp_dir().join(format!("oxmpi-segment-{}", std::process::id()));
        let plain = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        plain.set_len(segment.layout().file_length().min(1 << 30) as u64).unwrap();
        assert!(refused(plain.as_fd()).contains("not sealed"));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_foreign_file_is_refused() {
        // SAFETY: the name is a literal; the descriptor is owned at once.
        let fd = unsafe { OwnedFd::from_raw_fd(libc::memfd_create(c"other".as_ptr(), libc::MFD_CLOEXEC)) };
        let file = File::from(fd);
        file.set_len(PAGE as u64).unwrap();
        assert!(Segment::attach(file.as_fd()).is_err());
    }
}

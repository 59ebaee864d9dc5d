//! Collective accesses with buffering, in two phases: the processes of a node gather their pieces in
//! shared memory, and a few of them, the aggregators, access the file in long runs. Between nodes
//! the pieces go by messages of the first process of each node.
//!
//! Every decision that concerns others rests on facts that all processes have exchanged, so all
//! decide the same. A process whose arguments are wrong, or which moves its part alone, takes part
//! with nothing, so that no other waits for it. See
//! `oxmpi-io/src/image.rs` for the memory, and `oxmpi-core/src/jobs.rs` for the work that is done
//! without the lock.

use oxmpi_abi::{Error, Result, bail};
use oxmpi_core::agreement::{AgreementIo, Participants};
use oxmpi_core::file::{Buffering, NodeStaging, Switch};
use oxmpi_core::jobs::Jobs;
use oxmpi_datatype::{Region, Source, Target};
use oxmpi_io::{File, Image, MOST_AGGREGATORS, Part, View, Walk};
use std::ops::Range;
use std::sync::Arc;

/// With fewer runs per process, waiting for the others costs more than the system calls.
const FEW_RUNS: u64 = 8;
/// The range of the file may have so many bytes for each byte that is accessed.
const SPARSE: u64 = 16;
/// Slices of aggregators begin at multiples of this.
const PAGE: u64 = 4096;

/// What one process moves.
pub(super) struct Moving {
    pub io: Arc<File>,
    pub view: Arc<View>,
    pub offset: i64,
    /// User memory, or a stage in the format of the file, of which all is moved.
    pub memory: Region,
    pub writes: bool,
    pub atomic: bool,
}

impl Moving {
    /// Moves it without the other processes. Returns the number of bytes in the file.
    ///
    /// # Safety
    /// The memory may be read, if it is written to the file, or written.
    pub unsafe fn alone(&self) -> Result<usize> {
        let Moving { io, view, offset, memory, writes, atomic } = self;
        // SAFETY: the memory may be read or written: this function's condition.
        unsafe {
            match writes {
                true => oxmpi_io::write(io, view, *offset, &Source::new(memory.clone()), *atomic),
                false => oxmpi_io::read(io, view, *offset, &Target::new(memory.clone()), *atomic),
            }
        }
    }
}

/// A collective access of which all processes of the file perform their parts; the result is the
/// number of bytes that this process has moved in the file.
///
/// # Safety
/// The memory of `own` may be read or written until the future has ended, or is never polled again.
pub(super) unsafe fn access(
    io: AgreementIo,
    who: Participants,
    buffering: Buffering,
    jobs: Jobs,
    file: Arc<File>,
    own: Result<Moving>,
    writes: bool,
) -> impl Future<Output = Result<usize>> + Send {
    let own = own.and_then(|own| Ok((Part::new(Arc::clone(&own.view), own.offset, own.memory.len())?, own)));
    async move {
        let part = own.as_ref().ok().map(|(part, _)| part).filter(|part| is_shared(part, &buffering, writes));
        let (is_shared, facts) = (part.is_some(), Facts::of(part.unwrap_or(&Part::nothing())));
        let gather = io.begin_gather(&who, &facts);
        let (part, own) = match own {
            Ok((part, own)) if is_shared => (part, Own::Shared(own)),
            // SAFETY: the memory may be used until the future has ended.
            Ok((_, own)) => (Part::nothing(), Own::Done(jobs.run(move || unsafe { own.alone() }).await)),
            Err(error) => (Part::nothing(), Own::Done(Err(error))),
        };
        let all = gather.finish(&io, &who).await?;
        let Some((plan, staging)) = Plan::new(&buffering, writes, &all) else {
            return match own {
                // SAFETY: the memory may be used until the future has ended.
                Own::Shared(own) => jobs.run(move || unsafe { own.alone() }).await,
                Own::Done(result) => result,
            };
        };
        let memory = match &own {
            Own::Shared(own) => own.memory.clone(),
            Own::Done(_) => Region::dense(std::ptr::null_mut(), 0),
        };
        // SAFETY: it has the bytes of the part, and may be used until the future has ended.
        let walk = unsafe { Walk::new(part, memory) };
        let locals = Participants { members: staging.locals.clone(), rank: staging.rank, ..who.clone() };
        let mut phases = Phases { io, who, locals, staging, plan, jobs, file, walk: Some(walk), failed: None };
        let moved = if writes { phases.write().await? } else { phases.read().await? };
        let moved = match own {
            Own::Shared(_) => moved,
            Own::Done(result) => result?,
        };
        phases.failed.map_or(Ok(moved), Err)
    }
}

/// How a process takes part.
enum Own {
    /// Its part is one of those that may be gathered.
    Shared(Moving),
    /// It has moved its part alone, or could not.
    Done(Result<usize>),
}

/// Whether a part may be gathered with those of the other processes. A process with long or few runs moves them alone, for
/// which it need not know what the others do, and only helps the others then.
fn is_shared(part: &Part, buffering: &Buffering, writes: bool) -> bool {
    let runs = part.runs() as u64;
    let are_short = || runs >= FEW_RUNS && part.len() as u64 / runs < buffering.long_run(writes) as u64;
    part.is_ordered() && (buffering.switch(writes) != Switch::Automatic || are_short())
}

/// What a process tells the others about its part.
struct Facts;

impl Facts {
    const WORDS: usize = 4;

    fn of(part: &Part) -> [u64; Facts::WORDS] {
        let range = part.range();
        [range.start, range.end, part.len() as u64, part.granule() as u64]
    }
}

/// How an access is buffered.
#[derive(Clone)]
struct Plan {
    /// The positions in the file from the first to the last byte of all processes.
    range: Range<u64>,
    /// Where the first window begins.
    start: u64,
    window: u64,
    granule: usize,
    /// Aggregators of each node; the first processes of the node.
    aggregators: usize,
}

impl Plan {
    fn new(buffering: &Buffering, writes: bool, all: &[u64]) -> Option<(Plan, Arc<NodeStaging>)> {
        let staging = buffering.candidate(writes)?;
        let with_data = || all.chunks_exact(Facts::WORDS).filter(|facts| facts[2] > 0);
        if with_data().any(|facts| facts[0] >= facts[1] || !facts[3].is_power_of_two()) {
            return None;
        }
        let mut ranges: Vec<Range<u64>> = with_data().map(|facts| facts[0]..facts[1]).collect();
        let bytes = with_data().fold(0u64, |sum, facts| sum.saturating_add(facts[2]));
        let range = ranges.iter().map(|range| range.start).min()?..ranges.iter().map(|range| range.end).max()?;
        if (range.end - range.start) / SPARSE > bytes {
            return None;
        }
        if buffering.switch(writes) == Switch::Automatic {
            ranges.sort_by_key(|range| range.start);
            let interleaved = ranges.windows(2).any(|pair| pair[1].start < pair[0].end);
            if !interleaved {
                return None;
            }
        }
        let granule = with_data().map(|facts| facts[3]).min()?.clamp(1, PAGE) as usize;
        let unit = buffering.unit.max(PAGE).next_multiple_of(PAGE);
        let window = (buffering.window.min(staging.memory.window()) as u64 / unit * unit).max(PAGE);
        let start = range.start - range.start % unit.min(window);
        let aggregators = buffering.aggregators.div_ceil(staging.leaders.len());
        let aggregators = aggregators.clamp(1, staging.locals.len().min(MOST_AGGREGATORS));
        Some((Plan { range, start, window, granule, aggregators }, Arc::clone(staging)))
    }

    fn windows(&self) -> u64 {
        (self.range.end - self.start).div_ceil(self.window)
    }

    /// The positions of a window, in whole granules.
    fn window(&self, number: u64) -> Range<u64> {
        let granule = self.granule as u64;
        let start = self.start + number * self.window;
        start..(start + self.window).min(self.range.end.next_multiple_of(granule))
    }

    /// The part of a window that an aggregator accesses.
    fn slice(&self, window: &Range<u64>, aggregator: usize) -> Range<usize> {
        let length = window.end - window.start;
        let each = length.div_ceil(self.aggregators as u64).next_multiple_of(PAGE);
        let edge = |number: usize| (each * number as u64).min(length) as usize;
        edge(aggregator)..edge(aggregator + 1)
    }
}

/// An access on its way.
struct Phases {
    io: AgreementIo,
    who: Participants,
    /// The processes of this node.
    locals: Participants,
    staging: Arc<NodeStaging>,
    plan: Plan,
    jobs: Jobs,
    /// An aggregator accesses it for the others even if its own arguments were wrong.
    file: Arc<File>,
    /// `None` only while a job has it.
    walk: Option<Walk>,
    /// The first error of this process as an aggregator, or in what it reads.
    failed: Option<Error>,
}

/// A slice of an image that this process, as an aggregator, writes or reads.
type Share = Option<(Image, Range<usize>)>;

impl Phases {
    fn image(&self, image: usize, window: &Range<u64>) -> Image {
        let length = (window.end - window.start) as usize;
        // SAFETY: the phases below synchronise the processes between filling and saving, and between
        // loading and fetching.
        unsafe { self.staging.memory.image(image, window.start, length, self.plan.granule) }
    }

    /// What this process saves or loads of an image.
    fn share(&self, image: &Image) -> Share {
        let rank = self.locals.rank;
        (rank < self.plan.aggregators).then(|| (image.clone(), self.plan.slice(&image.window(), rank)))
    }

    /// Waits for the processes of this node.
    async fn synchronize(&self) -> Result<()> {
        self.io.gather(&self.locals, &[0]).await.map(|_| ())
    }

    fn is_leader(&self) -> bool {
        self.locals.rank == 0
    }

    /// The nodes other than this one, in order.
    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let own = self.staging.own;
        (0..self.staging.leaders.len()).filter(move |node| *node != own)
    }

    // ---- writing ----

    async fn write(&mut self) -> Result<usize> {
        let all = self.walk.as_ref().map_or(0, |walk| walk.part.len());
        if self.staging.leaders.len() == 1 {
            self.write_on_one_node().await?;
        } else {
            self.write_on_nodes().await?;
        }
        // What a host keeps for itself must reach the server before the others read their bytes.
        let several = self.staging.leaders.len() > 1 && self.file.is_cached();
        if several && self.failed.is_none() {
            let file = Arc::clone(&self.file);
            self.failed = self.jobs.run(move || file.sync()).await.err();
        }
        // All is written when all have said so.
        let class = self.failed.as_ref().map_or(0, Error::class);
        let classes = self.io.gather(&self.who, &[class as u32 as u64]).await?;
        if self.failed.is_none()
            && let Some(rank) = classes.iter().position(|class| *class != 0)
        {
            let class = classes[rank] as i32;
            bail!(class, "rank {rank} could not write what this process has given it; its error there says why");
        }
        if several {
            let file = Arc::clone(&self.file);
            self.jobs.run(move || file.refresh()).await;
        }
        Ok(all)
    }

    /// Saves one slice while the other processes fill the next image.
    async fn write_on_one_node(&mut self) -> Result<()> {
        let mut before = None;
        for number in 0..self.plan.windows() {
            let image = self.image((number % 2) as usize, &self.plan.window(number));
            self.save_and_fill(before, Some(image.clone())).await;
            self.synchronize().await?;
            before = self.share(&image);
        }
        self.save_and_fill(before, None).await;
        Ok(())
    }

    /// Each node writes one window of a round; the others send it their pieces.
    async fn write_on_nodes(&mut self) -> Result<()> {
        let nodes = self.staging.leaders.len();
        for round in 0..self.plan.windows().div_ceil(nodes as u64) {
            let mut own = None;
            for node in 0..nodes {
                let Some(window) = self.window_of(round, node) else { continue };
                let is_own = node == self.staging.own;
                let image = self.image(usize::from(!is_own), &window);
                self.save_and_fill(None, Some(image.clone())).await;
                self.synchronize().await?;
                if is_own {
                    own = Some(image);
                    continue;
                }
                if self.is_leader() {
                    let words = self.jobs.run(move || image.pack()).await;
                    self.send(self.staging.leaders[node], &words);
                }
                self.synchronize().await?;
            }
            let Some(own) = own else { continue };
            if self.is_leader() {
                for node in self.others() {
                    let words = self.receive(self.staging.leaders[node]).await?;
                    let image = own.clone();
                    self.jobs.run(move || image.unpack(&words)).await;
                }
            }
            self.synchronize().await?;
            self.save_and_fill(self.share(&own), None).await;
            self.synchronize().await?;
        }
        Ok(())
    }

    /// The window that a node accesses in a round.
    fn window_of(&self, round: u64, node: usize) -> Option<Range<u64>> {
        let number = round * self.staging.leaders.len() as u64 + node as u64;
        (number < self.plan.windows()).then(|| self.plan.window(number))
    }

    async fn save_and_fill(&mut self, share: Share, image: Option<Image>) {
        let (mut walk, file) = (self.walk.take(), Arc::clone(&self.file));
        let turn = (self.locals.rank, self.locals.len());
        let work = move || {
            let saved = share.map_or(Ok(()), |(image, slice)| image.save(&file, slice));
            if let (Some(image), Some(walk)) = (image, &mut walk) {
                image.fill(walk, turn);
            }
            (walk, saved)
        };
        let (walk, saved) = self.jobs.run(work).await;
        self.walk = walk;
        self.failed = self.failed.take().or(saved.err());
    }

    // ---- messages between the leaders ----

    /// Sends words after their number.
    fn send(&self, to: usize, words: &[u64]) {
        self.io.send(&self.who, to, &[words.len() as u64]);
        if !words.is_empty() {
            self.io.send(&self.who, to, words);
        }
    }

    async fn receive(&self, from: usize) -> Result<Vec<u64>> {
        let count = self.io.receive(&self.who, from, 1).await?[0] as usize;
        // A mark and a byte for each byte of a window at most, and two words.
        if count > self.staging.memory.window() {
            bail!(oxmpi_abi::constants::MPI_ERR_IO, "rank {from} sends {count} words for a window of the file");
        }
        if count == 0 { Ok(Vec::new()) } else { self.io.receive(&self.who, from, count).await }
    }

    // ---- reading ----

    async fn read(&mut self) -> Result<usize> {
        if self.staging.leaders.len() == 1 { self.read_on_one_node().await } else { self.read_on_nodes().await }
    }

    /// Loads one slice while the other processes fetch from the image before.
    async fn read_on_one_node(&mut self) -> Result<usize> {
        let (mut before, mut end) = (None, Fetched::default());
        for number in 0..self.plan.windows() {
            let index = (number % 2) as usize;
            let image = self.image(index, &self.plan.window(number));
            self.fetch_and_load(before, &mut end, Some((index, image.clone()))).await;
            self.synchronize().await?;
            before = Some((index, image));
        }
        self.fetch_and_load(before, &mut end, None).await;
        Ok(end.bytes)
    }

    /// Each node reads one window of a round; the others ask it for their pieces.
    async fn read_on_nodes(&mut self) -> Result<usize> {
        let nodes = self.staging.leaders.len();
        let mut end = Fetched::default();
        for round in 0..self.plan.windows().div_ceil(nodes as u64) {
            let own = self.window_of(round, self.staging.own).map(|window| (0, self.image(0, &window)));
            self.fetch_and_load(None, &mut end, own.clone()).await;
            self.synchronize().await?;
            let mut asked = vec![Vec::new(); nodes];
            for node in self.others() {
                let Some(window) = self.window_of(round, node) else { continue };
                let image = self.image(1, &window);
                self.want(image.clone()).await;
                self.synchronize().await?;
                if self.is_leader() {
                    let (words, runs) = self.jobs.run(move || image.pack_marks()).await;
                    self.send(self.staging.leaders[node], &words);
                    asked[node] = runs;
                }
                self.synchronize().await?;
            }
            if let Some((_, image)) = &own
                && self.is_leader()
            {
                self.answer(image).await?;
            }
            for (node, runs) in asked.into_iter().enumerate() {
                let Some(window) = self.window_of(round, node) else { continue };
                if node == self.staging.own {
                    self.fetch_and_load(own.clone(), &mut end, None).await;
                    continue;
                }
                let image = self.image(1, &window);
                if self.is_leader() {
                    let mut words = self.receive(self.staging.leaders[node]).await?;
                    let (found, class) = (words.pop().unwrap_or(0), words.pop().unwrap_or(0));
                    // One slice has it all.
                    for aggregator in 0..self.plan.aggregators {
                        let slice = self.plan.slice(&window, aggregator);
                        let there = found.saturating_sub(slice.start as u64).min(slice.len() as u64);
                        let found = if class == 0 { Ok(there) } else { Err(class as i32) };
                        self.staging.memory.tell(1, aggregator, found);
                    }
                    let image = image.clone();
                    self.jobs.run(move || image.take(&words, &runs)).await;
                }
                self.synchronize().await?;
                self.fetch_and_load(Some((1, image)), &mut end, None).await;
                self.synchronize().await?;
            }
            self.synchronize().await?;
        }
        Ok(end.bytes)
    }

    /// Sends the other nodes what they want of the own window: the bytes, the class of the error, and
    /// how much of the window the file has.
    async fn answer(&self, image: &Image) -> Result<()> {
        let found = self.found(0, &image.window());
        let end = [found.err().unwrap_or(0) as u32 as u64, found.unwrap_or(0)];
        for node in self.others() {
            let wanted = self.receive(self.staging.leaders[node]).await?;
            let image = image.clone();
            let answer = move || {
                let mut words = Vec::new();
                image.append(&mut words, &image.runs_of(&wanted));
                words.extend(end);
                words
            };
            let words = self.jobs.run(answer).await;
            self.send(self.staging.leaders[node], &words);
        }
        Ok(())
    }

    async fn want(&mut self, image: Image) {
        let walk = self.walk.take();
        let work = move || {
            if let Some(walk) = &walk {
                image.want(walk);
            }
            walk
        };
        self.walk = self.jobs.run(work).await;
    }

    /// How many bytes of a window the file has, or the class of an aggregator's error.
    fn found(&self, image: usize, window: &Range<u64>) -> Result<u64, i32> {
        for aggregator in 0..self.plan.aggregators {
            let slice = self.plan.slice(window, aggregator);
            let there = self.staging.memory.told(image, aggregator)?;
            if there < slice.len() as u64 {
                return Ok(slice.start as u64 + there);
            }
        }
        Ok(window.end - window.start)
    }

    async fn fetch_and_load(&mut self, from: Option<(usize, Image)>, end: &mut Fetched, next: Option<(usize, Image)>) {
        let found = from.as_ref().map_or(Ok(0), |(index, image)| self.found(*index, &image.window()));
        let (mut walk, file, memory) = (self.walk.take(), Arc::clone(&self.file), Arc::clone(&self.staging.memory));
        let next = next.map(|(index, image)| (index, self.share(&image)));
        let rank = self.locals.rank;
        let work = move || {
            let fetched = match (from, &mut walk) {
                (Some((_, image)), Some(walk)) => image.fetch(walk, image.window().start + found.unwrap_or(0)),
                _ => (true, 0),
            };
            let mut loaded = Ok(());
            if let Some((index, Some((image, slice)))) = next {
                let found = image.load(&file, slice);
                memory.tell(index, rank, found.as_ref().map(|bytes| *bytes as u64).map_err(Error::class));
                loaded = found.map(|_| ());
            }
            (walk, fetched, loaded)
        };
        let (walk, (whole, bytes), loaded) = self.jobs.run(work).await;
        self.walk = walk;
        if !end.ended {
            end.bytes += bytes;
            end.ended = !whole;
            if let (Err(class), false) = (found, whole) {
                let text = "an aggregator could not read this process's bytes; its error there says why";
                self.failed = self.failed.take().or(Some(Error::new(class, text)));
            }
        }
        self.failed = self.failed.take().or(loaded.err());
    }
}

/// How far a process has come with what it reads.
#[derive(Default)]
struct Fetched {
    bytes: usize,
    /// The file has ended, or could not be read.
    ended: bool,
}

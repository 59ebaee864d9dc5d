//! Agreements: small collective exchanges inside the library in which processes agree on something,
//! such as the context of a new communicator.
//!
//! An agreement is an `async` function over [`AgreementIo`], written once. A blocking call drives
//! it in its wait; a nonblocking one leaves it to
//! [`Process::progress`](crate::process::Process::progress) as a task. It is driven by polling
//! alone: nothing wakes it, and it is polled whenever messages have moved.
//!
//! The function cannot access the engine: it leaves its requests in memory that it shares with its
//! driver, and the driver performs them. A message is identified by its sender's process, which is
//! unique. Process numbers are valid only in their own process, so processes send each other
//! process ids.

mod drive;

use crate::contexts::Proposal;
use crate::engine::{BY_PROCESS, OpId, Route};
use crate::matching::Pattern;
use crate::ranks::Ranks;
use oxmpi_abi::{Error, Result};
use oxmpi_base::address::ProcessId;
use oxmpi_base::ids::{Peer, Rank};
use oxmpi_boot::network::KEY_WORDS;
use oxmpi_datatype::{OwnedBytes, Signature};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

/// The members of an agreement, and how their messages are distinguished from others.
#[derive(Clone)]
pub struct Participants {
    pub members: Ranks,
    /// This process's index among the members.
    pub rank: usize,
    pub context: u32,
    pub tag: i32,
}

impl Participants {
    /// The participants, of which `process` is one.
    pub fn new(members: Ranks, process: Peer, context: u32, tag: i32) -> Participants {
        let rank = members.position(process).unwrap_or_else(|| unreachable!("a process agreements among its own"));
        Participants { members, rank, context, tag }
    }

    /// Two participants, this process first; the other may list them the other way around.
    pub fn between(own: Peer, other: Peer, context: u32, tag: i32) -> Participants {
        Participants { members: vec![own, other].into(), rank: 0, context, tag }
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The same with this member first, who is the sender in [`AgreementIo::tell`].
    pub fn led_by(&self, leader: usize) -> Participants {
        if leader == 0 {
            return self.clone();
        }
        let mut list: Vec<Peer> = self.members.iter().collect();
        list[..=leader].rotate_right(1);
        let rank = match self.rank {
            rank if rank == leader => 0,
            rank if rank < leader => rank + 1,
            rank => rank,
        };
        Participants { members: Ranks::from_list(list), rank, ..self.clone() }
    }
}

/// Through this an agreement sends, receives and asks its driver.
#[derive(Clone, Default)]
pub struct AgreementIo {
    pending: Arc<Mutex<PendingIo>>,
}

#[derive(Default)]
struct PendingIo {
    orders: Vec<Order>,
    question: Option<Question>,
    answer: Option<Answer>,
}

enum Order {
    Send(Route, Box<[u8]>),
    GiveBack(Proposal),
    Release(u32),
}

enum Question {
    /// So many words. `None` for the group: other members may die.
    Receive(Pattern, usize, Option<Ranks>),
    Draw {
        between_jobs: bool,
    },
    Reserve(u32),
    SpansJobs(Ranks),
    IdsOf(Ranks),
    /// Where the nodes of processes are found, and a new key for them.
    PlacesOf(Vec<ProcessId>),
    /// Processes, and an introduction of those that are on other hosts.
    PeersAt(Vec<ProcessId>, Vec<u64>),
}

enum Answer {
    Words(Result<Vec<u64>>),
    Drawn(Option<Proposal>),
    Reserved(bool),
    SpansJobs(bool),
    Ids(Vec<ProcessId>),
    Places([u64; KEY_WORDS], Vec<u64>),
    Peers(Result<Vec<Peer>>),
}

impl AgreementIo {
    fn pending(&self) -> MutexGuard<'_, PendingIo> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn ask(&self, question: Question) -> Answer {
        self.pending().question = Some(question);
        poll_fn(|_| match self.pending().answer.take() {
            Some(answer) => Poll::Ready(answer),
            None => Poll::Pending,
        })
        .await
    }

    /// Sends words to a member.
    pub fn send(&self, participants: &Participants, to: usize, words: &[u64]) {
        let route = Route {
            peer: participants.members.peer(Rank::new(to)),
            context: participants.context,
            source: BY_PROCESS,
            tag: participants.tag,
            signature: Signature::NONE,
        };
        let bytes = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        self.pending().orders.push(Order::Send(route, bytes));
    }

    /// Waits for so many words from a member. An error when any member has died, since another that
    /// has noticed it sends no more.
    pub async fn receive(&self, participants: &Participants, from: usize, count: usize) -> Result<Vec<u64>> {
        self.receive_unless(participants, from, count, Some(participants.members.clone())).await
    }

    /// Waits for a word from a member, unless that one has ended.
    async fn receive_if_lives(&self, participants: &Participants, from: usize) {
        let _ = self.receive_unless(participants, from, 1, None).await;
    }

    async fn receive_unless(
        &self,
        participants: &Participants,
        from: usize,
        count: usize,
        members: Option<Ranks>,
    ) -> Result<Vec<u64>> {
        let source = participants.members.peer(Rank::new(from)).as_source();
        let pattern = Pattern { context: participants.context, source, tag: participants.tag };
        match self.ask(Question::Receive(pattern, count, members)).await {
            Answer::Words(words) => words,
            _ => unreachable!("the answer fits the question"),
        }
    }

    /// A context of this process to propose to others; `None` when all are in use.
    pub async fn draw(&self, between_jobs: bool) -> Option<Proposal> {
        match self.ask(Question::Draw { between_jobs }).await {
            Answer::Drawn(proposal) => proposal,
            _ => unreachable!("the answer fits the question"),
        }
    }

    /// Returns a drawn context that will not be used.
    pub fn give_back(&self, proposal: Proposal) {
        self.pending().orders.push(Order::GiveBack(proposal));
    }

    /// Whether this process has nothing left of an earlier use of the context and does not hold it
    /// for another agreement. If so, it holds it for this one until it is
    /// [released](AgreementIo::release) or used.
    pub async fn reserve(&self, context: u32) -> bool {
        match self.ask(Question::Reserve(context)).await {
            Answer::Reserved(free) => free,
            _ => unreachable!("the answer fits the question"),
        }
    }

    pub fn release(&self, context: u32) {
        self.pending().orders.push(Order::Release(context));
    }

    /// The ids of processes, which processes of any job understand.
    pub async fn ids_of(&self, members: &Ranks) -> Vec<ProcessId> {
        match self.ask(Question::IdsOf(members.clone())).await {
            Answer::Ids(ids) => ids,
            _ => unreachable!("the answer fits the question"),
        }
    }

    /// Where the nodes of some processes are found, as words for other processes, and a new key: none
    /// if this process has no network.
    pub async fn places_of(&self, ids: &[ProcessId]) -> ([u64; KEY_WORDS], Vec<u64>) {
        match self.ask(Question::PlacesOf(ids.to_vec())).await {
            Answer::Places(key_id, places) => (key_id, places),
            _ => unreachable!("the answer fits the question"),
        }
    }

    /// The peers for ids; an error when one cannot be reached. `introduction`: how those on other hosts
    /// are reached, if there are any.
    pub async fn peers_at(&self, ids: Vec<ProcessId>, introduction: Vec<u64>) -> Result<Vec<Peer>> {
        match self.ask(Question::PeersAt(ids, introduction)).await {
            Answer::Peers(peers) => peers,
            _ => unreachable!("the answer fits the question"),
        }
    }

    /// Whether the processes belong to more than one job; all get the same answer.
    pub async fn spans_jobs(&self, members: &Ranks) -> bool {
        match self.ask(Question::SpansJobs(members.clone())).await {
            Answer::SpansJobs(spans) => spans,
            _ => unreachable!("the answer fits the question"),
        }
    }

    // ---- small collective operations ----

    /// Broadcasts words of the first member along a binomial tree. Every member passes as many
    /// words as will come.
    pub async fn tell(&self, participants: &Participants, words: &mut [u64]) -> Result<()> {
        let (rank, size) = (participants.rank, participants.len());
        // The lowest set bit of a rank is its distance from its parent.
        let mut bit = if rank == 0 { size.next_power_of_two() } else { rank & rank.wrapping_neg() };
        if rank != 0 {
            words.copy_from_slice(&self.receive(participants, rank - bit, words.len()).await?);
        }
        while bit > 1 {
            bit /= 2;
            if rank + bit < size {
                self.send(participants, rank + bit, words);
            }
        }
        Ok(())
    }

    /// Whether all members agree: up the tree, and down again.
    pub async fn all(&self, participants: &Participants, yes: bool) -> Result<bool> {
        Ok(self.common(participants, u64::from(yes)).await? == 1)
    }

    /// The bitwise AND over all members.
    pub async fn common(&self, participants: &Participants, bits: u64) -> Result<u64> {
        let mut common = [self.gather_up(participants, bits, |one, other| one & other).await?];
        self.tell(participants, &mut common).await?;
        Ok(common[0])
    }

    /// The minimum over all members; only the first member gets it.
    pub async fn least(&self, participants: &Participants, own: u64) -> Result<u64> {
        self.gather_up(participants, own, u64::min).await
    }

    /// Combines the values of all members up the tree. Only the first member gets the result.
    async fn gather_up(&self, participants: &Participants, own: u64, combine: fn(u64, u64) -> u64) -> Result<u64> {
        let (rank, size) = (participants.rank, participants.len());
        let mut so_far = own;
        let mut bit = 1;
        while bit < size && rank & bit == 0 {
            if rank + bit < size {
                so_far = combine(so_far, self.receive(participants, rank + bit, 1).await?[0]);
            }
            bit *= 2;
        }
        if rank != 0 {
            self.send(participants, rank - bit, &[so_far]);
        }
        Ok(so_far)
    }

    /// Waits until all members have arrived, except those that have ended: up the tree and down
    /// again, whoever is missing. Never fails.
    pub async fn part(&self, participants: &Participants) -> Result<()> {
        let (rank, size) = (participants.rank, participants.len());
        let mut bit = 1;
        while bit < size && rank & bit == 0 {
            if rank + bit < size {
                self.receive_if_lives(participants, rank + bit).await;
            }
            bit *= 2;
        }
        if rank != 0 {
            self.send(participants, rank - bit, &[0]);
            self.receive_if_lives(participants, rank - bit).await;
        }
        while bit > 1 {
            bit /= 2;
            if rank + bit < size {
                self.send(participants, rank + bit, &[0]);
            }
        }
        Ok(())
    }

    /// The words of each member, by rank. Every member passes the same number of words.
    pub async fn gather(&self, participants: &Participants, own: &[u64]) -> Result<Vec<u64>> {
        self.begin_gather(participants, own).finish(self, participants).await
    }

    /// Sends what the other members wait for first. A member with other work does it between the two
    /// halves of the gather.
    pub fn begin_gather(&self, participants: &Participants, own: &[u64]) -> Gather {
        let (rank, size) = (participants.rank, participants.len());
        let first = if size <= FEW_MEMBERS { size } else { 2 };
        (1..first).for_each(|distance| self.send(participants, (rank + size - distance) % size, own));
        Gather { known: own.to_vec(), width: own.len() }
    }

    /// As [`AgreementIo::gather`], for lists of different lengths.
    pub async fn gather_lists(&self, participants: &Participants, own: &[u64]) -> Result<Vec<Vec<u64>>> {
        let (rank, size) = (participants.rank, participants.len());
        let lengths = self.gather(participants, &[own.len() as u64]).await?;
        let mut known = vec![own.to_vec()];
        while known.len() < size {
            let (distance, count) = (known.len(), known.len().min(size - known.len()));
            self.send(participants, (rank + size - distance) % size, &known[..count].concat());
            let coming: Vec<usize> = (0..count).map(|at| lengths[(rank + distance + at) % size] as usize).collect();
            let mut words = &self.receive(participants, (rank + distance) % size, coming.iter().sum()).await?[..];
            for length in coming {
                let (list, rest) = words.split_at(length);
                known.push(list.to_vec());
                words = rest;
            }
        }
        known.rotate_right(rank);
        Ok(known)
    }
}

/// So few members send their words to each other directly, because a round costs more than some messages.
const FEW_MEMBERS: usize = 4;

/// A gather that has begun.
pub struct Gather {
    /// The words of this member and of those behind it.
    known: Vec<u64>,
    width: usize,
}

impl Gather {
    /// Receives the words of the other members, if they are many in rounds that double what is known.
    pub async fn finish(mut self, io: &AgreementIo, participants: &Participants) -> Result<Vec<u64>> {
        let (rank, size, width) = (participants.rank, participants.len(), self.width);
        let mut distance = 1;
        while distance < size {
            let count = if size <= FEW_MEMBERS { 1 } else { distance.min(size - distance) };
            if distance > 1 && size > FEW_MEMBERS {
                io.send(participants, (rank + size - distance) % size, &self.known[..count * width]);
            }
            self.known.extend(io.receive(participants, (rank + distance) % size, count * width).await?);
            distance += count;
        }
        self.known.rotate_right(rank * width);
        Ok(self.known)
    }
}

/// The number of messages that each member of a gather sends.
#[cfg(test)]
pub fn sends_of_gather(size: usize) -> usize {
    if size <= FEW_MEMBERS { size - 1 } else { size.next_power_of_two().trailing_zeros() as usize }
}

/// The word that bytes begin with.
fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |word| u64::from_ne_bytes(*word))
}

/// Whether processes belong to more than one job.
pub fn spans_jobs(ids: &[ProcessId]) -> bool {
    ids.windows(2).any(|pair| pair[0].job != pair[1].job)
}

/// An agreement under way.
pub struct Agreement<T> {
    future: Pin<Box<dyn Future<Output = T> + Send>>,
    io: AgreementIo,
    receiving: Option<Awaited>,
    /// Messages that wait for room. The agreement lasts until they have been sent, so that a
    /// process that starts one after another is throttled by slower ones.
    sending: Vec<OpId>,
    result: Option<T>,
}

/// A receive under way.
struct Awaited {
    op: OpId,
    pattern: Pattern,
    /// Where the words go.
    bytes: OwnedBytes,
    /// The processes, beside the sender, whose death ends the receive.
    members: Option<Ranks>,
    /// Why nothing will come.
    failure: Option<Error>,
}

impl<T> Agreement<T> {
    pub fn new<F: Future<Output = T> + Send + 'static>(agreement: impl FnOnce(AgreementIo) -> F) -> Agreement<T> {
        let io = AgreementIo::default();
        Agreement { future: Box::pin(agreement(io.clone())), io, receiving: None, sending: Vec::new(), result: None }
    }

    /// Whether it has ended but for messages that have not been sent.
    pub(crate) fn is_sending(&self) -> bool {
        self.result.is_some() && !self.sending.is_empty()
    }
}

/// Many processes without any transport: the agreement of every member is driven in turn, and
/// messages wait in lists. Shows the result and the cost of an agreement at any size.
#[cfg(test)]
pub(crate) mod simulated {
    use super::*;
    use oxmpi_base::address::JobId;
    use oxmpi_base::ids::NodeId;
    use std::collections::{HashMap, VecDeque};
    use std::task::{Context, Waker};

    /// Sender, receiver, context and tag.
    type Place = (i32, Peer, u32, i32);

    pub(crate) struct World {
        mail: HashMap<Place, VecDeque<Box<[u8]>>>,
        pub messages: usize,
        pub words: usize,
        pub given_back: usize,
        drawn: Vec<u32>,
        /// What each process draws, and whether a context is free there.
        pub draw: fn(process: usize, count: u32) -> Option<Proposal>,
        pub is_free: fn(process: usize, context: u32) -> bool,
    }

    impl World {
        pub fn new(processes: usize) -> World {
            World {
                mail: HashMap::new(),
                messages: 0,
                words: 0,
                given_back: 0,
                drawn: vec![0; processes],
                draw: |process, count| {
                    Some(Proposal { context: (process as u32) << 12 | (count + 8) << 1, used: false })
                },
                is_free: |_, _| true,
            }
        }

        /// Drives the agreements of some processes to their ends; panics when they deadlock.
        pub fn run<T>(&mut self, agreements: Vec<(usize, Agreement<T>)>) -> Vec<T> {
            let count = agreements.len();
            let mut agreements: Vec<Option<(usize, Agreement<T>)>> = agreements.into_iter().map(Some).collect();
            let mut waits: Vec<Option<(Pattern, usize)>> = vec![None; count];
            let mut ends: Vec<Option<T>> = (0..count).map(|_| None).collect();
            while agreements.iter().any(Option::is_some) {
                let mut moved = false;
                // The last first, so that no order of the members is taken for granted.
                for index in (0..count).rev() {
                    let Some((process, agreement)) = &mut agreements[index] else { continue };
                    if let Some(end) = self.step(*process, agreement, &mut waits[index], &mut moved) {
                        ends[index] = Some(end);
                        agreements[index] = None;
                    }
                }
                assert!(moved, "everybody waits");
            }
            assert!(self.mail.values().all(VecDeque::is_empty), "messages that nobody received");
            ends.into_iter().flatten().collect()
        }

        fn step<T>(
            &mut self,
            process: usize,
            agreement: &mut Agreement<T>,
            wait: &mut Option<(Pattern, usize)>,
            moved: &mut bool,
        ) -> Option<T> {
            loop {
                if let Some((pattern, count)) = *wait {
                    let place = (pattern.source, Peer::at_slot(process), pattern.context, pattern.tag);
                    let bytes = self.mail.get_mut(&place)?.pop_front()?;
                    assert_eq!(bytes.len(), count * 8);
                    let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().unwrap());
                    let words = bytes.chunks_exact(8).map(word).collect();
                    agreement.io.pending().answer = Some(Answer::Words(Ok(words)));
                    *wait = None;
                }
                *moved = true;
                let state = agreement.future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                for order in std::mem::take(&mut agreement.io.pending().orders) {
                    match order {
                        Order::Send(route, bytes) => {
                            self.messages += 1;
                            self.words += bytes.len() / 8;
                            let place = (process as i32, route.peer, route.context, route.tag);
                            self.mail.entry(place).or_default().push_back(bytes);
                        }
                        Order::GiveBack(_) => self.given_back += 1,
                        Order::Release(_) => {}
                    }
                }
                if let Poll::Ready(end) = state {
                    return Some(end);
                }
                let question = agreement.io.pending().question.take()?;
                let answer = match question {
                    Question::Receive(pattern, count, _) => {
                        *wait = Some((pattern, count));
                        continue;
                    }
                    Question::Draw { .. } => {
                        self.drawn[process] += 1;
                        Answer::Drawn((self.draw)(process, self.drawn[process]))
                    }
                    Question::Reserve(context) => Answer::Reserved((self.is_free)(process, context)),
                    Question::SpansJobs(_) => Answer::SpansJobs(false),
                    Question::IdsOf(members) => {
                        let job = JobId { inode: 1, holder: 1, fd: 1, host: 0 };
                        let id = |peer: Peer| ProcessId { job, node: NodeId::FIRST, slot: peer.slot().unwrap() };
                        Answer::Ids(members.iter().map(id).collect())
                    }
                    Question::PlacesOf(_) => Answer::Places([0; KEY_WORDS], Vec::new()),
                    Question::PeersAt(all, _) => Answer::Peers(Ok(all.iter().map(|id| Peer::local(id.slot)).collect())),
                };
                agreement.io.pending().answer = Some(answer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn participants_led_by_another() {
        let participants = |rank| Participants {
            members: Ranks::from_list([4, 5, 6, 7].map(Peer::at_slot).to_vec()),
            rank,
            context: 0,
            tag: 0,
        };
        for (rank, expected) in [(0, 1), (1, 2), (2, 0), (3, 3)] {
            let led = participants(rank).led_by(2);
            assert_eq!(led.members.iter().collect::<Vec<_>>(), [6, 4, 5, 7].map(Peer::at_slot));
            assert_eq!(led.rank, expected);
        }
    }

    const SIZES: [usize; 14] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 31, 100, 1000];

    /// Each member runs the same agreement.
    fn everybody<T, F>(size: usize, agreement: impl Fn(AgreementIo, Participants) -> F) -> (Vec<T>, usize)
    where
        F: Future<Output = T> + Send + 'static,
    {
        let mut world = simulated::World::new(size);
        let participants = |rank| Participants { members: Ranks::one_node(size), rank, context: 1, tag: 9 };
        let agreements = (0..size).map(|rank| (rank, Agreement::new(|io| agreement(io, participants(rank))))).collect();
        (world.run(agreements), world.messages)
    }

    #[test]
    fn all_members_get_the_words_of_the_first() {
        for size in SIZES {
            let (heard, messages) = everybody(size, |io, participants| async move {
                let mut words = if participants.rank == 0 { [7, 8] } else { [0, 0] };
                io.tell(&participants, &mut words).await.map(|()| words)
            });
            assert!(heard.into_iter().all(|words| words.unwrap() == [7, 8]));
            assert_eq!(messages, size - 1);
        }
    }

    #[test]
    fn one_refusal_is_enough() {
        for size in SIZES {
            for no in [0, size / 2, size - 1, size] {
                let (heard, _) = everybody(size, |io, participants| async move {
                    io.all(&participants, participants.rank != no).await.unwrap()
                });
                assert!(heard.into_iter().all(|yes| yes == (no == size)));
            }
        }
    }

    #[test]
    fn no_member_continues_before_all_have_arrived() {
        for size in SIZES {
            let (gone, messages) = everybody(size, |io, participants| async move { io.part(&participants).await });
            assert_eq!((gone.len(), messages), (size, 2 * (size - 1)));
        }
    }

    #[test]
    fn all_members_get_the_words_of_all_in_order() {
        for size in SIZES {
            let (heard, messages) = everybody(size, |io, participants| async move {
                io.gather(&participants, &[participants.rank as u64, 5]).await.unwrap()
            });
            let expected: Vec<u64> = (0..size as u64).flat_map(|rank| [rank, 5]).collect();
            assert!(heard.into_iter().all(|words| words == expected));
            assert_eq!(messages, size * sends_of_gather(size));
        }
    }
}

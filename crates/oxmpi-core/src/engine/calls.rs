//! In which collective call this process waits, for processes of other nodes: they cannot read it in shared memory, so they ask.
//!
//! A process that has waited in vain asks those that it waits for. Who waits in vain too, or has found out that calls differ,
//! answers with its position among the calls of the communicator. An answer is believed only by the wait that has asked: it was
//! given while that wait lasted, so it is about the same communicator, though numbers of contexts come again. Nothing here
//! decides anything: `wait/mismatch.rs` compares. Nothing is sent or stored before a wait has lasted for long.

use super::{Arrived, Messages};
use crate::call_history::Calls;
use crate::ranks::Ranks;
use oxmpi_transport::transfer::Control;
use oxmpi_transport::{ASK_CALL, Packet, Peer, TELL_CALL};

/// The position of a rank among the calls of a communicator.
#[derive(Clone)]
pub struct Position {
    pub context: u32,
    pub rank: u32,
    pub number: u32,
    /// The names of the last call and of the one before, as words.
    pub last: u64,
    pub before: u64,
    /// The rank has left the last call with an error.
    pub has_left: bool,
}

impl Position {
    pub fn new(context: u32, rank: i32, calls: &Calls) -> Position {
        let (last, before) = (calls.last.word(), calls.before.word());
        Position { context, rank: rank as u32, number: calls.number, last, before, has_left: false }
    }
}

/// Why a position is told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// This process waits there.
    Waits,
    /// This process has left it with an error, because calls differ.
    Differed,
    /// Another process waits there, in another call than the members of the communicator should.
    Found,
}

#[derive(Default)]
pub(super) struct CallNews {
    /// The wait under way.
    wait: u32,
    told: Vec<Told>,
    /// Asked before there was an answer.
    questions: Vec<Question>,
    answers: Vec<(Peer, Position)>,
    /// Calls that a rank we wait for has left with an error, by context and number, and how often that was found.
    left: Vec<(u32, u32, u32)>,
}

struct Told {
    news: News,
    position: Position,
    /// All processes of the communicator.
    groups: [Ranks; 2],
}

#[derive(Clone, Copy)]
struct Question {
    peer: Peer,
    wait: u32,
    context: u32,
}

/// Set beside the rank in an answer: it [has left](Position::has_left) the call.
const HAS_LEFT: u32 = 1 << 31;

/// So often it is found that a rank has left a call before that is an error.
const TIMES_LEFT: u32 = 2;

/// The most questions and answers that are kept: others come again.
const MOST: usize = 256;

impl CallNews {
    /// Whether no rank was found to have left the call that this one waits in.
    pub(super) fn is_nobody_left(&self) -> bool {
        self.left.is_empty()
    }
}

impl Told {
    fn answers(&self, question: &Question) -> bool {
        self.position.context == question.context
            && self.groups.iter().any(|group| group.position(question.peer).is_some())
    }

    fn control(&self, wait: u32) -> Control {
        let Position { context, rank, number, last, before, has_left } = self.position;
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let rank = if has_left { rank | HAS_LEFT } else { rank };
        Control::new(TELL_CALL, [pair(wait, rank), pair(context, number), last, before])
    }
}

impl Messages {
    /// Asks processes of other nodes where they are among the calls of a communicator.
    #[cold]
    pub fn ask_calls(&mut self, peers: &[Peer], context: u32) {
        let wait = self.calls.wait;
        for &peer in peers {
            self.send_control_packet(peer, Control::new(ASK_CALL, [wait.into(), context.into(), 0, 0]));
        }
    }

    /// Tells a position to all members of the communicator that have asked or will ask.
    #[cold]
    pub fn publish_call(&mut self, news: News, position: Position, groups: [Ranks; 2]) {
        let told = Told { news, position, groups };
        let (now, later): (Vec<Question>, _) = self.calls.questions.iter().partition(|question| told.answers(question));
        self.calls.questions = later;
        for question in now {
            self.send_control_packet(question.peer, told.control(question.wait));
        }
        self.calls.told.retain(|other| other.news != news);
        self.calls.told.push(told);
    }

    /// The answers to the questions of the wait under way.
    pub fn call_answers(&mut self) -> Vec<(Peer, Position)> {
        std::mem::take(&mut self.calls.answers)
    }

    /// A rank that a call waits for has left it with an error. `true` when that has been so for a while: news of the reason
    /// have had the time to come.
    pub fn has_been_left(&mut self, context: u32, number: u32) -> bool {
        let left = &mut self.calls.left;
        match left.iter_mut().find(|(on, call, _)| (*on, *call) == (context, number)) {
            Some((_, _, times)) => *times += 1,
            None => left.push((context, number, 1)),
        }
        left.iter().any(|&(on, call, times)| (on, call) == (context, number) && times > TIMES_LEFT)
    }

    /// The wait is over.
    #[cold]
    pub fn end_of_wait(&mut self) {
        self.calls.wait = self.calls.wait.wrapping_add(1);
        self.calls.answers.clear();
        self.calls.left.clear();
        self.calls.told.retain(|told| told.news != News::Waits);
    }

    /// A context is used for a new communicator.
    pub fn forget_calls(&mut self, context: u32) {
        self.calls.told.retain(|told| told.position.context != context);
        self.calls.questions.retain(|question| question.context != context);
    }

    pub(super) fn arrive_question(&mut self, peer: Peer, packet: &Packet<'_>) -> Arrived {
        let (Ok(wait), Ok(context)) = (u32::try_from(packet.word(0)), u32::try_from(packet.word(1))) else {
            return Arrived::Wrong("a question with numbers that are too large");
        };
        let question = Question { peer, wait, context };
        let answers: Vec<Control> =
            self.calls.told.iter().filter(|told| told.answers(&question)).map(|told| told.control(wait)).collect();
        if answers.is_empty() {
            self.calls.questions.retain(|other| (other.peer, other.context) != (peer, context));
            if self.calls.questions.len() < MOST {
                self.calls.questions.push(question);
            }
        }
        for answer in answers {
            self.send_control_packet(peer, answer);
        }
        Arrived::Done(false)
    }

    pub(super) fn arrive_call(&mut self, peer: Peer, packet: &Packet<'_>) -> Arrived {
        let halves = |word: u64| ((word >> 32) as u32, word as u32);
        let ((wait, rank), (context, number)) = (halves(packet.word(0)), halves(packet.word(1)));
        if wait == self.calls.wait && self.calls.answers.len() < MOST {
            let (last, before, has_left) = (packet.word(2), packet.word(3), rank & HAS_LEFT != 0);
            let position = Position { context, rank: rank & !HAS_LEFT, number, last, before, has_left };
            self.calls.answers.push((peer, position));
        }
        Arrived::Done(false)
    }
}

//! A peer that violates the protocol: every such packet ends the waiting receives with an error
//! that names the peer, and nothing panics or is read out of bounds.

use oxmpi_base::address::JobId;
use oxmpi_base::segment::Segment;
use oxmpi_core::engine::{Engine, Mode, News, Position, Route};
use oxmpi_core::matching::Pattern;
use oxmpi_core::ranks::Ranks;
use oxmpi_datatype::{Signature, Source, Target};
use oxmpi_transport::{Head, Links, Peer, Slot};
use std::os::fd::AsFd;

const EAGER: u8 = 1;
const MORE: u8 = 2;
const OFFER: u8 = 3;
const CLAIMED: u8 = 4;
const STREAM: u8 = 5;
const DATA: u8 = 6;
const WITHDRAWN: u8 = 8;
const ASK_CALL: u8 = 9;
const REVOKED: u8 = 14;
const TELL_CALL: u8 = 10;
const SYNC: u8 = 1;

/// A number that a sender may give to an offer: the first use of its first offer cell.
const OFFER_NUMBER: u64 = 1 << 32;

fn pair() -> (Links, Engine) {
    let (fd, _) = Segment::create(2, 2).unwrap();
    let attach = |slot| {
        let job = JobId { inode: 1, holder: 1, fd: 1, host: 0 };
        Links::attach(Segment::attach(fd.as_fd()).unwrap(), job, Slot::new(slot).unwrap()).unwrap()
    };
    (attach(0), Engine::new(attach(1), true))
}

fn head(kind: u8, flags: u8, aux: u32) -> Head {
    Head { kind, flags, context: 0, tag: 5, source: 0, aux }
}

#[test]
fn errors_of_invalid_packets_name_the_sender() {
    let cases: [(&str, Head, [u64; 4]); 18] = [
        ("kind 0", head(0, 0, 0), [0; 4]),
        ("kind 99", head(99, 0, 0), [0; 4]),
        ("a question about a context that cannot be", head(ASK_CALL, 0, 0), [0, 1 << 32, 0, 0]),
        ("a revoked context that cannot be", head(REVOKED, 0, 0), [1 << 32, 0, 0, 0]),
        ("a part of no message", head(MORE, 0, 0), [0; 4]),
        ("bytes for no receive", head(DATA, 0, 0), [u64::MAX; 4]),
        ("a message too long to be sent at once", head(EAGER, 0, u32::MAX), [0; 4]),
        ("flags that do not exist", head(EAGER, 2, 8), [0; 4]),
        ("a synchronous message that its packet has no room for", head(EAGER, SYNC, 1000), [OFFER_NUMBER, 0, 0, 0]),
        ("a synchronous message without an offer", head(EAGER, SYNC, 8), [0; 4]),
        ("an offer beyond the sender's", head(OFFER, 0, 0), [10, 0, OFFER_NUMBER | 0xffff_ffff, 0]),
        ("an offer of no use", head(OFFER, 0, 0), [10, 0, 0, 0]),
        ("an offer of more pieces than bytes", head(OFFER, 0, u32::MAX), [10, 4096, OFFER_NUMBER, 0]),
        ("an answer with a wrong offer", head(CLAIMED, 0, 0), [u64::MAX, 0, 0, 0]),
        ("an answer for no operation", head(CLAIMED, 0, 0), [OFFER_NUMBER, u64::MAX, 0, 0]),
        ("an answer for a receive", head(CLAIMED, 0, 0), [OFFER_NUMBER, 0, 0, 0]),
        ("an offer given back that nobody asked for", head(WITHDRAWN, 0, 0), [0, 1, 0, 0]),
        ("a stream of no operation", head(STREAM, 0, 0), [OFFER_NUMBER, 7, 0, 10]),
    ];
    for (name, head, body) in cases {
        let (mut hostile, mut engine) = pair();
        let mut bytes = [0u8; 64];
        // SAFETY: the bytes stay, and are not looked at, until the receive has ended.
        let buf = unsafe { Target::dense(bytes.as_mut_ptr(), bytes.len()) };
        let op = engine.recv(Pattern { context: 0, source: 0, tag: 5 }, buf);
        hostile.tx.send_control(Peer::at_slot(1), &head, &body).unwrap();
        engine.progress();
        let outcome = engine.take_outcome(op).unwrap_or_else(|| panic!("{name}: the receive still waits"));
        let error = outcome.error.unwrap_or_else(|| panic!("{name}: no error"));
        assert!(error.text().contains("process 0 of this node"), "{name}: {}", error.text());
        // Nothing more is read from it.
        hostile.tx.send_control(Peer::at_slot(1), &head, &body).unwrap();
        engine.progress();
    }
}

/// The receiver asks for more of a message than the sender offered.
#[test]
fn a_stream_is_no_longer_than_its_message() {
    let (mut hostile, mut engine) = pair();
    let bytes = vec![7u8; 100_000];
    let route = Route { peer: Peer::at_slot(0), context: 0, source: 1, tag: 5, signature: Signature::NONE };
    // SAFETY: the bytes stay, and do not change, until the send has ended.
    let buf = unsafe { Source::dense(bytes.as_ptr(), bytes.len()) };
    let op = engine.send(Mode::Standard, &route, buf).unwrap();
    assert_eq!(hostile.rx.senders(&mut hostile.tx), 1);
    let offer = hostile.rx.next(Peer::at_slot(1)).unwrap();
    let (number, send) = (offer.word(2), offer.word(3));
    hostile.tx.send_control(Peer::at_slot(1), &head(STREAM, 0, 0), &[number, send, 0, 100_001]).unwrap();
    engine.progress();
    let outcome = engine.take_outcome(op).expect("the send has ended");
    assert!(outcome.error.is_some_and(|error| error.text().contains("process 0 of this node")));
}

/// An answer names an operation of the sender that is over: another one may have its index in the
/// table by now.
#[test]
fn an_answer_for_a_completed_operation_is_refused() {
    let (mut hostile, mut engine) = pair();
    let me = Peer::at_slot(1);
    let bytes = [7u8; 8];
    let route = Route { peer: Peer::at_slot(0), context: 0, source: 1, tag: 5, signature: Signature::NONE };
    // SAFETY: the bytes stay, and do not change, until the sends have ended.
    let buf = || unsafe { Source::dense(bytes.as_ptr(), bytes.len()) };
    let first = engine.send(Mode::Synchronous, &route, buf()).unwrap();
    assert_eq!(hostile.rx.senders(&mut hostile.tx), 1);
    let packet = hostile.rx.next(me).unwrap();
    let offer = hostile.tx.announced_with_bytes(me, &packet).unwrap();
    assert!(hostile.tx.claim(me, offer));
    let answer = hostile.tx.acknowledge(me, offer);
    hostile.tx.tell(me, &answer).unwrap();
    engine.progress();
    assert!(engine.take_outcome(first).expect("it is received").error.is_none());
    // The next operation has the same index in the table.
    let second = engine.send(Mode::Synchronous, &route, buf()).unwrap();
    assert_ne!(first, second);
    hostile.tx.tell(me, &answer).unwrap();
    engine.progress();
    let outcome = engine.take_outcome(second).expect("the send has ended");
    assert!(outcome.error.is_some_and(|error| error.text().contains("process 0 of this node")));
}

/// A process answers in which collective call it waits: members of the communicator, while it waits, and no wait that is over
/// believes an answer.
#[test]
fn questions_about_calls_are_answered_for_the_wait_that_asks() {
    let (mut asker, mut engine) = pair();
    let me = Peer::at_slot(1);
    let members = || [Ranks::one_node(2), Ranks::one_node(0)];
    let position = |context| Position { context, rank: 1, number: 7, last: 3, before: 4, has_left: false };
    let ask = |asker: &mut Links, engine: &mut Engine, wait: u64, context: u64| {
        asker.tx.send_control(me, &head(ASK_CALL, 0, 0), &[wait, context, 0, 0]).unwrap();
        engine.progress();
    };
    let answer = |asker: &mut Links| {
        asker.rx.senders(&mut asker.tx);
        let packet = asker.rx.next(me)?;
        let found = (packet.kind(), [packet.word(0), packet.word(1), packet.word(2), packet.word(3)]);
        let size = packet.size();
        asker.rx.pop(me, size, asker.tx.node());
        Some(found)
    };
    let expected = |wait: u64, context: u64| Some((TELL_CALL, [wait << 32 | 1, context << 32 | 7, 3, 4]));
    // It does not wait yet: the answer comes when it does.
    ask(&mut asker, &mut engine, 5, 8);
    assert_eq!(answer(&mut asker), None);
    engine.publish_call(News::Waits, position(8), members());
    assert_eq!(answer(&mut asker), expected(5, 8));
    ask(&mut asker, &mut engine, 6, 8);
    assert_eq!(answer(&mut asker), expected(6, 8));
    // Another communicator, processes that are no members, and a wait that is over.
    ask(&mut asker, &mut engine, 6, 10);
    engine.publish_call(News::Waits, position(10), [Ranks::one_node(0), Ranks::one_node(0)]);
    assert_eq!(answer(&mut asker), None);
    engine.publish_call(News::Differed, position(8), members());
    engine.end_of_wait();
    ask(&mut asker, &mut engine, 7, 8);
    assert_eq!(answer(&mut asker), expected(7, 8));
    engine.forget_calls(8);
    ask(&mut asker, &mut engine, 8, 8);
    assert_eq!(answer(&mut asker), None);
    // Answers: only the wait that asked takes them.
    let tell = |asker: &mut Links, wait: u64| {
        asker.tx.send_control(me, &head(TELL_CALL, 0, 0), &[wait << 32, 8 << 32, 3, 4]).unwrap();
    };
    tell(&mut asker, 0);
    engine.progress();
    assert!(engine.call_answers().is_empty(), "it was for the wait before");
    tell(&mut asker, 1);
    engine.progress();
    assert_eq!(engine.call_answers().len(), 1);
}

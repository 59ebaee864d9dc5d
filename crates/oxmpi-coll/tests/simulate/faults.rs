//! The machine itself: plans that are wrong in one way each, and what it says of them.

use crate::machine::{self, NOTHING, Process, ROUNDS, Store, Units, Value};
use oxmpi_coll::plan::{Piece, Plan, Region, Side, Step};

const SEND: Region = Region::Send;
const RECV: Region = Region::Recv;
const TEMP: Region = Region::Temp;

fn send(to: u32, piece: Piece) -> Step {
    Step::Send { to, piece }
}

fn recv(from: u32, piece: Piece) -> Step {
    Step::Recv { from, piece }
}

/// Runs two ranks with four units in each buffer; rank `r` gives elements 0 to 3 of its operand.
/// The machine's complaint.
fn complaint(first: &[Step], second: &[Step]) -> String {
    let process = |(rank, steps): (usize, &&[Step])| Process {
        plan: Plan { steps: steps.to_vec(), temp: 4 },
        send: Store::new(1, (0..4).map(|i| Value::operand(rank as u32, i, 2)).collect()),
        recv: Store::new(1, vec![NOTHING; 4]),
        temp: Units::Even(1),
    };
    let all = [first, second].iter().enumerate().map(process).collect();
    machine::run(all, 2, false, ROUNDS).err().unwrap_or_default()
}

#[track_caller]
fn finds(what: &str, first: &[Step], second: &[Step]) {
    let said = complaint(first, second);
    assert!(said.contains(what), "expected '{what}', the machine said '{said}'");
}

#[test]
fn what_is_right_passes() {
    let swap = |other| [send(other, SEND.at(0, 4)), recv(other, RECV.at(0, 4)), Step::Fence];
    assert_eq!(complaint(&swap(1), &swap(0)), "");
}

#[test]
fn messages() {
    let wait = |other| [send(other, SEND.at(0, 1)), Step::Fence, recv(other, RECV.at(0, 1))];
    finds("deadlock", &wait(1), &wait(0));
    finds("deadlock", &[recv(1, RECV.at(0, 1))], &[]);
    finds("deadlock", &[send(1, SEND.at(0, 1))], &[]);
    finds("who expects 2", &[send(1, SEND.at(0, 1))], &[recv(0, RECV.at(0, 2))]);
    finds("there is no rank 2", &[send(2, SEND.at(0, 1))], &[]);
    finds("a local step", &[Step::SendLocal { to: 1, piece: SEND.at(0, 1) }], &[]);
}

#[test]
fn memory() {
    let copy = |from, to| Step::Copy { from, to };
    finds("never written", &[copy(TEMP.at(0, 1), RECV.at(0, 1))], &[]);
    finds("is written", &[copy(SEND.at(0, 1), SEND.at(1, 1))], &[]);
    finds("outside", &[copy(SEND.at(3, 2), RECV.at(0, 2))], &[]);
    finds("outside", &[copy(SEND.at(0, 1), TEMP.at(4, 1))], &[]);
    finds("2 to 1 atoms", &[copy(SEND.at(0, 2), RECV.at(0, 1))], &[]);
    let fill = copy(SEND.at(0, 4), RECV.at(0, 4));
    finds("which overlaps", &[fill, copy(RECV.at(0, 2), RECV.at(1, 2))], &[]);
    let give = [send(0, SEND.at(0, 2))];
    finds("while 0..2 is received", &[fill, recv(1, RECV.at(0, 2)), copy(RECV.at(1, 1), TEMP.at(0, 1))], &give);
    finds("while 0..2 is received", &[fill, recv(1, RECV.at(0, 2)), copy(SEND.at(1, 1), RECV.at(1, 1))], &give);
    let take = [recv(0, RECV.at(0, 2))];
    finds("while 0..2 is sent", &[fill, send(1, RECV.at(0, 2)), copy(SEND.at(1, 1), RECV.at(1, 1))], &take);
    // A wait for what is received is not one for what is sent.
    let early = [fill, send(1, RECV.at(0, 2)), Step::Received, copy(SEND.at(1, 1), RECV.at(1, 1))];
    finds("while 0..2 is sent", &early, &take);
}

#[test]
fn operands() {
    let reduce = |with, into| Step::Reduce { with, into, side: Side::Left };
    let fill = Step::Copy { from: SEND.at(0, 4), to: RECV.at(0, 4) };
    finds("combined twice", &[fill, reduce(SEND.at(0, 1), RECV.at(0, 1))], &[]);
    let take = recv(1, RECV.at(0, 1));
    let give = [send(0, SEND.at(0, 1))];
    finds("elements 1 and 0", &[take, Step::Received, reduce(SEND.at(1, 1), RECV.at(0, 1))], &give);
    finds("never written", &[reduce(SEND.at(0, 1), RECV.at(0, 1))], &[]);
}

#[test]
fn order() {
    let (a, b) = (Value::operand(0, 0, 2), Value::operand(1, 0, 2));
    let right = Value::combine(a, b, true).unwrap();
    let wrong = Value::combine(b, a, true).unwrap();
    assert_eq!((right.order, wrong.order), (Some((0, 2)), None));
    assert_eq!(right.who, wrong.who);
    assert_ne!(right.tree, wrong.tree);
}

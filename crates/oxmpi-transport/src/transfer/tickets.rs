//! The tickets of this process, with which it offers messages to peers that share memory with it.

use oxmpi_base::ticket::{State, TicketBook, TicketId};
use std::collections::VecDeque;

/// The tickets of this process.
pub(crate) struct Tickets {
    pub book: TicketBook,
    /// Those of sends that are over, which the receiver has not given back yet.
    pub spent: VecDeque<TicketId>,
}

impl Tickets {
    pub fn new(book: TicketBook) -> Tickets {
        Tickets { book, spent: VecDeque::new() }
    }

    /// A ticket for an offer; `None` while all are in use.
    pub fn offer(&mut self) -> Option<TicketId> {
        // A few at a time, so that many of them cost an offer no more than one.
        for _ in 0..self.spent.len().min(2) {
            let Some(id) = self.spent.pop_front() else { break };
            if self.book.ticket(id).state(id) == State::Done {
                self.book.release(id);
            } else {
                self.spent.push_back(id);
            }
        }
        self.book.offer()
    }

    /// Takes an offer back; `false` when the receiver was faster.
    pub fn withdraw(&mut self, id: TicketId) -> bool {
        let won = self.book.ticket(id).withdraw(id);
        if won {
            self.book.release(id);
        }
        won
    }
}

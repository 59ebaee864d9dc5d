//! The offer cells of this process, with which it offers messages to peers that share memory with it.

use oxmpi_base::offer_cell::{OfferCells, OfferId, State};
use std::collections::VecDeque;

/// The offer cells of this process.
pub(crate) struct OwnOffers {
    pub cells: OfferCells,
    /// Cells of completed sends that the receiver has not released yet.
    pub unreleased: VecDeque<OfferId>,
}

impl OwnOffers {
    pub fn new(cells: OfferCells) -> OwnOffers {
        OwnOffers { cells, unreleased: VecDeque::new() }
    }

    /// A cell for an offer; `None` while all are in use.
    pub fn offer(&mut self) -> Option<OfferId> {
        // Only a few per call, so that many unreleased cells do not delay an offer.
        for _ in 0..self.unreleased.len().min(2) {
            let Some(id) = self.unreleased.pop_front() else { break };
            if self.cells.cell(id).state(id) == State::Done {
                self.cells.release(id);
            } else {
                self.unreleased.push_back(id);
            }
        }
        self.cells.offer()
    }

    /// Withdraws an offer; `false` when the receiver was faster.
    pub fn withdraw(&mut self, id: OfferId) -> bool {
        let won = self.cells.cell(id).withdraw(id);
        if won {
            self.cells.release(id);
        }
        won
    }
}

//! Every case of the suite on every link.

use oxmpi_testkit::{Link, seeds, suite};

macro_rules! conformance {
    ($($link:ident = $value:expr;)*) => {
        $(mod $link {
            use super::*;
            conformance!(@ $value, ordering long_transfers types_with_gaps synchronous_mode cancel_races_with_claim
                cancelled_receives many_senders_to_any_source flood_with_bounded_memory truncation matched_probe
                death_of_a_peer many_cancels withdrawn_messages_are_not_probed floods_that_meet death_at_any_time);
        })*
    };
    (@ $value:expr, $($case:ident)*) => {
        $(#[test]
        fn $case() {
            $value.for_each(suite::$case);
        })*
    };
}

conformance! {
    loopback = [Link::Loopback].into_iter();
    shm = [Link::Shm].into_iter();
    shm_streamed = [Link::ShmStreamed].into_iter();
    tcp = [Link::Tcp].into_iter();
    fabric = oxmpi_testkit::fabrics();
    sim = seeds(12).map(Link::Sim);
}

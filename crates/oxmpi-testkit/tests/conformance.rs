//! Every case of the suite on every link.

use oxmpi_testkit::{Link, suite};

macro_rules! conformance {
    ($($link:ident = $value:expr;)*) => {
        $(mod $link {
            use super::*;
            conformance!(@ $value, ordering long_transfers types_with_gaps synchronous_mode cancel_races_with_claim
                cancelled_receives many_senders_to_any_source flood_with_bounded_memory truncation matched_probe
                death_of_a_peer);
        })*
    };
    (@ $value:expr, $($case:ident)*) => {
        $(#[test]
        fn $case() {
            suite::$case($value);
        })*
    };
}

conformance! {
    loopback = Link::Loopback;
    shm = Link::Shm;
    shm_streamed = Link::ShmStreamed;
}

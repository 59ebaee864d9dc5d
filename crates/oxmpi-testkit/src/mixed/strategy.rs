//! How random programs are made: proptest strategies, so that a failing program is shrunk until
//! nothing can be left out.

use super::program::{Collective, Form, GroundKind, KINDS, Make, Message, Op, Program, Step};
use proptest::option::weighted;
use proptest::prelude::*;

/// Units of a block: most are short, some are around the limits of the protocols.
fn units(long: bool) -> BoxedStrategy<usize> {
    if long {
        prop_oneof![10 => 0usize..9, 4 => 9usize..200, 2 => 500usize..600, 2 => 1000usize..1100, 1 => 2000usize..9000]
            .boxed()
    } else {
        prop_oneof![10 => 0usize..9, 4 => 9usize..200, 1 => 500usize..1100, 1 => 1100usize..2000].boxed()
    }
}

fn later() -> impl Strategy<Value = usize> {
    prop_oneof![2 => Just(0usize), 3 => 1usize..5, 1 => Just(100)]
}

fn messages(long: bool) -> impl Strategy<Value = Step> {
    let flags = (weighted(0.3, Just(())), weighted(0.3, Just(())));
    (0usize..6, 0usize..9, 0usize..9, units(long), flags, 0u32..16, later()).prop_map(
        |(comm, from, to, units, (synchronous, any_source), layouts, later)| {
            let (synchronous, any_source) = (synchronous.is_some(), any_source.is_some());
            Step::Message(Message { comm, from, to, units, synchronous, any_source, layouts, later })
        },
    )
}

fn forms() -> impl Strategy<Value = Form> {
    prop_oneof![
        4 => Just(Form::Blocking),
        4 => later().prop_map(|later| Form::Nonblocking { later }),
        1 => Just(Form::Persistent),
    ]
}

fn collectives(long: bool) -> impl Strategy<Value = Step> {
    const OPS: [Op; 6] = [Op::Sum, Op::Max, Op::Bxor, Op::MinLoc, Op::UserSum, Op::Compose];
    let first = (0usize..6, prop::sample::select(&KINDS[..]), forms(), 0usize..9);
    let second = (units(long), prop::sample::select(&OPS[..]), weighted(0.5, any::<u32>()));
    (first, second, weighted(0.3, Just(())), any::<u32>()).prop_map(
        |((comm, kind, form, root), (count, op, layouts), in_place, spread)| {
            let (layouts, in_place) = (layouts.unwrap_or(0), in_place.is_some());
            Step::Collective(Collective { comm, kind, form, root, count, op, layouts, in_place, spread })
        },
    )
}

fn makes() -> impl Strategy<Value = Step> {
    let how = prop_oneof![
        2 => Just(Make::Dup),
        3 => any::<u32>().prop_map(|spread| Make::Split { spread }),
        2 => any::<u32>().prop_map(|members| Make::Group { members }),
        2 => any::<u32>().prop_map(|spread| Make::Inter { spread }),
    ];
    (0usize..6, how).prop_map(|(comm, how)| Step::Make { comm, how })
}

fn windows() -> impl Strategy<Value = Step> {
    use super::window::{Access, Epoch, EpochKind, Memory, What, WindowUse};
    const KINDS: [EpochKind; 5] = [
        EpochKind::Fence,
        EpochKind::Lock { exclusive: true },
        EpochKind::Lock { exclusive: false },
        EpochKind::LockAll,
        EpochKind::PostStart,
    ];
    const WHATS: [What; 8] = [
        What::Put,
        What::Get,
        What::Sum,
        What::Max,
        What::GetAndSum,
        What::FetchAndSum,
        What::CompareAndSwap { succeeds: true },
        What::CompareAndSwap { succeeds: false },
    ];
    let access = (0usize..9, 0usize..9, 0usize..16, 1usize..5, any::<bool>(), prop::sample::select(&WHATS[..]))
        .prop_map(|(origin, target, slot, count, strided, what)| Access { origin, target, slot, count, strided, what });
    let epoch = (prop::sample::select(&KINDS[..]), prop::collection::vec(access, 0..14))
        .prop_map(|(kind, accesses)| Epoch { kind, accesses });
    let memory = prop::sample::select(&[Memory::Allocated, Memory::Shared, Memory::Own][..]);
    (0usize..6, memory, prop::collection::vec(epoch, 1..4))
        .prop_map(|(comm, memory, epochs)| Step::Window(WindowUse { comm, memory, epochs }))
}

fn files() -> impl Strategy<Value = Step> {
    use super::file::{FileAction, FileKind, FileUse};
    let kind = prop::sample::select(&[FileKind::WriteAt, FileKind::Write, FileKind::ReadAt][..]);
    let action = (kind, 0usize..40, 0usize..7, any::<bool>(), any::<bool>())
        .prop_map(|(kind, offset, count, together, request)| FileAction { kind, offset, count, together, request });
    (0usize..6, 1usize..5, 1usize..9, any::<bool>(), any::<bool>(), prop::collection::vec(action, 1..6)).prop_map(
        |(comm, block, spread, buffered, shared, actions)| {
            Step::File(FileUse { comm, block, spread, buffered, shared, actions })
        },
    )
}

fn steps(long: bool) -> impl Strategy<Value = Step> {
    // On a simulated network most windows are refused.
    let if_long = if long { 3 } else { 1 };
    prop_oneof![
        4 => messages(long),
        6 => collectives(long),
        2 => makes(),
        1 => (0usize..6).prop_map(|comm| Step::Free { comm }),
        if_long => windows(),
        1 => files(),
    ]
}

/// Programs for a simulated network.
pub fn simulated() -> impl Strategy<Value = Program> {
    (1usize..10).prop_flat_map(|ranks| {
        let death = weighted(0.25, (0..ranks, 0u64..6000));
        (Just(ranks), 0u64..1_000_000, death, prop::collection::vec(steps(false), 1..14))
            .prop_map(|(ranks, seed, death, steps)| Program { ground: GroundKind::Sim, ranks, seed, death, steps })
    })
}

/// Programs that mostly use files, over shared memory with pretended nodes.
pub fn with_files() -> impl Strategy<Value = Program> {
    let steps = prop_oneof![6 => files(), 1 => makes(), 1 => collectives(false)];
    (1usize..8, 1u32..4, any::<bool>(), prop::collection::vec(steps, 1..8)).prop_map(
        |(ranks, nodes, in_turn, steps)| {
            let ground = GroundKind::Shm { nodes, in_turn, single_copy: true };
            Program { ground, ranks, seed: 0, death: None, steps }
        },
    )
}

/// Programs for shared memory.
pub fn shared() -> impl Strategy<Value = Program> {
    let ground = (1u32..4, any::<bool>(), any::<bool>()).prop_map(|(nodes, in_turn, single_copy)| GroundKind::Shm {
        nodes,
        in_turn,
        single_copy,
    });
    (1usize..10, ground, prop::collection::vec(steps(true), 1..20)).prop_map(|(ranks, ground, steps)| Program {
        ground,
        ranks,
        seed: 0,
        death: None,
        steps,
    })
}

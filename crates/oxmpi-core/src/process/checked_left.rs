//! What is left at `MPI_Finalize`: requests that were never completed, objects that were never freed, messages that were
//! never received. Told are only objects that the program has made: predefined ones, infos, error handlers and keys are
//! not, nor is anything that a callback of `MPI_Finalize` has freed.

use super::Process;
use crate::check;
use crate::check::origins::{self, Origin};
use crate::request::{Active, Body};
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::Handle;
use oxmpi_base::slots::{Kind, SlotTable, kind_of};
use oxmpi_check::Finding;
use oxmpi_check::catalogue::{
    Entry, MATCH_UNRECEIVED, OBJ_COMM, OBJ_FILE, OBJ_GROUP, OBJ_OP, OBJ_REQUEST, OBJ_TYPE, OBJ_WIN, REQ_ACTIVE,
    REQ_UNSTARTED,
};
use std::collections::BTreeMap;

/// Objects of one kind, by the call that made them.
type Counted = BTreeMap<Option<Origin>, usize>;

impl Process {
    /// Tells what is left. `all_have_come`: everything that others have sent has arrived.
    pub fn tell_what_is_left(&mut self, all_have_come: bool) {
        check::tell_now(self.engine.node());
        self.compare_collectives();
        self.tell_missing_calls(|_| all_have_come);
        self.tell_requests();
        self.tell_objects();
        self.tell_messages();
    }

    /// Whether an object exists that may be told at the end.
    pub(crate) fn has_object(&self, handle: usize) -> bool {
        match kind_of(handle) {
            Some(Kind::Comm) => self.comms.made.get(handle).is_some(),
            Some(Kind::Group) => self.groups.get(handle).is_some(),
            Some(Kind::Datatype) => self.types.get(handle).is_some(),
            Some(Kind::Op) => self.operations.get(handle).is_some(),
            Some(Kind::Request) => self.requests.get(handle).is_some(),
            Some(Kind::Win) => self.windows.get(handle).is_some(),
            Some(Kind::File) => self.files.get(handle).is_some(),
            _ => false,
        }
    }

    fn tell_requests(&self) {
        let (mut active, mut inactive) = (Counted::new(), Counted::new());
        for (handle, request) in self.requests.iter() {
            let origin = origins::of(handle);
            match &request.body {
                // Without an origin it is one of the library's own.
                _ if origin.is_none() => {}
                Body::Sent | Body::Once(Active::Flush(..)) => {}
                Body::Generalized(generalized) if generalized.freed => {}
                Body::Once(_) | Body::Generalized(_) | Body::Persistent(_, Some(_)) => {
                    *active.entry(origin).or_default() += 1;
                }
                Body::Persistent(_, None) => *inactive.entry(origin).or_default() += 1,
            }
        }
        let what = |count: usize| if count == 1 { "1 request".into() } else { format!("{count} requests") };
        for (origin, count) in active {
            let text = format!("{} of {} never completed (no MPI_Wait or MPI_Test)", what(count), name(origin));
            self.tell_left(&REQ_ACTIVE, text, origin);
        }
        for (fun, callers) in &self.buffers.never_started {
            if !self.buffers.has_started {
                let fun = fun.map_or("a call", Fun::name);
                let text = format!("waited for the request of {fun}, but has never started a request (MPI_Start)");
                check::tell_finding(self.engine.node(), Finding::new(&REQ_UNSTARTED, text), *callers);
            }
        }
        for (origin, count) in inactive {
            let text = format!("{} of {} not freed (MPI_Request_free)", what(count), name(origin));
            self.tell_left(&OBJ_REQUEST, text, origin);
        }
    }

    fn tell_objects(&self) {
        let parent = self.parent.raw();
        let comms = counted(&self.comms.made, |handle| handle != parent);
        self.tell_kind(&OBJ_COMM, comms, ("communicator", "MPI_Comm_free"));
        self.tell_kind(&OBJ_GROUP, counted(&self.groups, |_| true), ("group", "MPI_Group_free"));
        let types = &self.types;
        let made = counted(types, |handle| types.get(handle).is_some_and(|found| !found.is_predefined()));
        self.tell_kind(&OBJ_TYPE, made, ("datatype", "MPI_Type_free"));
        self.tell_kind(&OBJ_OP, counted(&self.operations, |_| true), ("reduction operation", "MPI_Op_free"));
        self.tell_kind(&OBJ_WIN, counted(&self.windows, |_| true), ("window", "MPI_Win_free"));
        self.tell_kind(&OBJ_FILE, counted(&self.files, |_| true), ("file", "MPI_File_close"));
    }

    fn tell_kind(&self, entry: &'static Entry, counted: Counted, (one, frees): (&str, &str)) {
        for (origin, count) in counted {
            let what = if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") };
            let text = format!("{what} of {} not freed ({frees})", name(origin));
            self.tell_left(entry, text, origin);
        }
    }

    /// Messages that were never received on a communicator of the program.
    fn tell_messages(&mut self) {
        let mut all: BTreeMap<(u32, i32, i32), (usize, u64)> = BTreeMap::new();
        for (envelope, bytes) in self.engine.unreceived() {
            let entry = all.entry((envelope.context, envelope.source, envelope.tag)).or_default();
            *entry = (entry.0 + 1, bytes);
        }
        let predefined = [&self.comms.world, &self.comms.own].into_iter();
        let comms: Vec<(u32, String)> = predefined
            .chain(self.comms.made.iter().map(|(_, comm)| comm))
            .map(|comm| (comm.context, comm.describe()))
            .collect();
        for (envelope, _) in self.engine.unreceived_parts() {
            let Some(source) = envelope.sender_of_part() else { continue };
            let Some((_, comm)) = comms.iter().find(|(of, _)| *of == envelope.context & !1) else { continue };
            let text = format!("partitions from rank {source} on {comm} never received");
            check::tell_finding(self.engine.node(), Finding::new(&MATCH_UNRECEIVED, text), None);
        }
        for (_, (envelope, _, comm)) in self.messages.iter() {
            let comm = self.comm(*comm).map_or_else(|_| "a communicator".into(), |comm| comm.describe());
            let text = format!(
                "a message from rank {} with tag {} on {comm} was probed by MPI_Mprobe and never received (MPI_Mrecv)",
                envelope.source, envelope.tag
            );
            check::tell_finding(self.engine.node(), Finding::new(&MATCH_UNRECEIVED, text), None);
        }
        for ((context, source, tag), (count, bytes)) in all {
            let comm = match comms.iter().find(|(of, _)| *of == context) {
                Some((_, comm)) => comm.as_str(),
                None if self.call_table.freed.contains(&context) => "a communicator that was freed",
                None => continue,
            };
            let what = match count {
                1 => format!("a message of {bytes} bytes"),
                count => format!("{count} messages (the last of {bytes} bytes)"),
            };
            let text = format!("{what} from rank {source} with tag {tag} on {comm} never received");
            check::tell_finding(self.engine.node(), Finding::new(&MATCH_UNRECEIVED, text), None);
        }
    }

    fn tell_left(&self, entry: &'static Entry, text: String, origin: Option<Origin>) {
        let callers = origin.and_then(|origin| origin.callers);
        check::tell_finding(self.engine.node(), Finding::new(entry, text), callers);
    }
}

/// The objects that the program has made.
fn counted<T>(table: &SlotTable<T>, is_meant: impl Fn(usize) -> bool) -> Counted {
    let mut all = Counted::new();
    for (handle, _) in table.iter().filter(|(handle, _)| is_meant(*handle)) {
        if let Some(origin) = origins::of(handle) {
            *all.entry(Some(origin)).or_default() += 1;
        }
    }
    all
}

fn name(origin: Option<Origin>) -> &'static str {
    origin.map_or("the program", |origin| origin.fun.name())
}

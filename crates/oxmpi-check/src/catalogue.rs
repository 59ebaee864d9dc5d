//! The names of findings. A name never changes its meaning. Each has an example that is wrong and one that is right, which
//! are programs of `tests/programs/check` and run there.

/// A kind of finding.
#[derive(Debug)]
pub struct Entry {
    /// `OX-CLASS-WHAT`.
    pub name: &'static str,
    /// What is wrong, and why it matters.
    pub about: &'static str,
    pub wrong: &'static str,
    pub right: &'static str,
}

macro_rules! entries {
    ($($entry:ident $name:literal $file:literal $about:literal)*) => {
        $(
            pub static $entry: Entry = Entry {
                name: $name,
                about: $about,
                wrong: include_str!(concat!("../../../tests/programs/check/explain/", $file, "_wrong.c")),
                right: include_str!(concat!("../../../tests/programs/check/explain/", $file, "_right.c")),
            };
        )*
        /// All kinds.
        pub static ALL: &[&Entry] = &[$(&$entry),*];
    };
}

entries! {
    SEND_UNSAFE "OX-SEND-UNSAFE" "send_unsafe"
        "Only with --check=strict: MPI_Send waits for its receive, which comes only after the send. The program works where the \
         message is short enough to be stored, and hangs elsewhere. Let one of the two receive first, or use MPI_Sendrecv or \
         MPI_Isend."
    SEND_READY "OX-SEND-READY" "send_ready"
        "A message was sent in ready mode (MPI_Rsend, MPI_Irsend, MPI_Rsend_init), which promises that its receive is posted, \
         and it was not. Elsewhere the message may be lost. Let the receiver post first and tell the sender, or use MPI_Send."
    TYPE_MESSAGE "OX-TYPE-MESSAGE" "type_message"
        "A message was sent with elements of one kind and received as another kind. The bytes are taken as they are, so \
         the values are wrong. The types of a send and of its receive must have the same sequence of basic types; \
         MPI_BYTE and MPI_PACKED match everything."
    TYPE_COLL "OX-TYPE-COLL" "type_coll"
        "The ranks of a collective call give types of different kinds for the same data. What one sends as one kind, \
         another takes as another kind."
    COLL_CALL "OX-COLL-CALL" "coll_call"
        "The ranks of a communicator make different collective calls, or the same ones in different orders. All ranks \
         must call the same functions in the same order; a blocking call does not match its nonblocking form."
    COLL_ORDER "OX-COLL-ORDER" "coll_order"
        "Two ranks make collective calls on two communicators in different orders. Each call may wait for all ranks of its \
         communicator, so that the two ranks may wait for each other for ever. All must make the calls in one order, or use \
         nonblocking ones."
    COLL_ROOT "OX-COLL-ROOT" "coll_root"
        "The ranks of a collective call give different roots. All must name the same one."
    COLL_OP "OX-COLL-OP" "coll_op"
        "The ranks of a reduction give different operations. All must give the same one."
    COLL_COUNT "OX-COLL-COUNT" "coll_count"
        "The ranks of a collective call give different amounts of data where they must be the same: what one sends is \
         more or less than another one expects. The amount must match exactly, not only fit."
    COLL_ARGS "OX-COLL-ARGS" "coll_args"
        "The ranks of a collective call give different arguments where they must be the same, such as the dimensions of a grid \
         or the access mode of a file. All must give the same."
    COLL_NEIGHBORS "OX-COLL-NEIGHBORS" "coll_neighbors"
        "Two ranks of a distributed graph do not agree on the edges between them: one names the other as a destination, and that \
         one does not name it as a source, or the other way round. Operations among neighbours hang then, or mix up data."
    TYPE_RMA "OX-TYPE-RMA" "type_rma"
        "A one-sided operation gives types of different kinds for its own memory and for that of the target. The bytes \
         are taken as they are, so the values are wrong."
    RMA_CONFLICT "OX-RMA-CONFLICT" "rma_conflict"
        "Two one-sided accesses use the same memory of a target in one epoch, and one of them changes it. What is there in \
         the end, or what is read, depends on chance. Only accumulates of one type and one operation may overlap. Separate \
         the accesses: with a fence, with exclusive locks, or with a flush and a barrier."
    RMA_EPOCH "OX-RMA-EPOCH" "rma_epoch"
        "Only with --check=strict: an operation with a request (MPI_Rput, MPI_Rget, MPI_Raccumulate, MPI_Rget_accumulate) in an \
         epoch of MPI_Win_fence or MPI_Win_start. The standard allows it only while the target is locked, and some libraries \
         refuse it. Lock the target (MPI_Win_lock, MPI_Win_lock_all), or use the operation without a request."
    RMA_STORE "OX-RMA-STORE" "rma_store"
        "A rank has stored to its own memory of a window where another rank puts in the same epoch. One of the two values is \
         lost. Store before the epoch begins or after it has ended. With --check=strict also a store to what another rank \
         gets, whose value is then not certain."
    RMA_ASSERT "OX-RMA-ASSERT" "rma_assert"
        "An assertion of MPI_Win_fence or MPI_Win_post is not true: memory was stored to although MPI_MODE_NOSTORE says that \
         it was not, others have put there although MPI_MODE_NOPUT says that they will not, or only some ranks give \
         MPI_MODE_NOPRECEDE or MPI_MODE_NOSUCCEED. Elsewhere data may be lost. Give 0, or make it true."
    RMA_ORIGIN "OX-RMA-ORIGIN" "rma_origin"
        "The buffer of a one-sided operation was changed or used by another one before the operation was complete: \
         before the next fence, MPI_Win_complete, flush or unlock. What was sent or received depends on chance."
    THREAD_LEVEL "OX-THREAD-LEVEL" "thread_level"
        "A thread has called MPI although the level that MPI_Init or MPI_Init_thread has provided does not allow it: with \
         MPI_THREAD_SINGLE and MPI_THREAD_FUNNELED only the thread that initialised MPI may call it. Ask for \
         MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE, and look at what was provided."
    THREAD_CONCURRENT "OX-THREAD-CONCURRENT" "thread_concurrent"
        "Two threads were in calls of MPI at once, although the level that MPI_Init_thread has provided is \
         MPI_THREAD_SERIALIZED: the program promises that one thread at a time is in MPI, also while a call waits. Use a \
         lock around the calls, or ask for MPI_THREAD_MULTIPLE."
    THREAD_REQUEST "OX-THREAD-REQUEST" "thread_request"
        "Two threads wait for one request at once. The first one completes and frees it; the other one uses a request that \
         does not exist any more. Let one thread complete each request."
    FILE_CONFLICT "OX-FILE-CONFLICT" "file_conflict"
        "Several ranks have written the same bytes of a file, or (with --check=strict) one has read what another one writes, without atomic mode and \
         without MPI_File_sync in between. What the file contains, or what is read, depends on chance. Write to places of \
         one's own, or let one rank write; before others read, call MPI_File_sync, MPI_Barrier and MPI_File_sync."
    FILE_SPLIT "OX-FILE-SPLIT" "file_split"
        "A split collective access ends with another buffer than it has begun with. Elsewhere the data may be read into, or \
         written from, either of them. Give the same buffer to both calls."
    FILE_VIEW "OX-FILE-VIEW" "file_view"
        "Ranks use the shared file pointer of a file, and their views of it differ. The pointer counts elements of the view, so \
         each rank takes it for another place: data is overwritten or lost. Give the same view to all, or use offsets."
    BUF_OVERLAP "OX-BUF-OVERLAP" "buf_overlap"
        "A call uses a buffer that an operation under way writes, or writes one that it reads. What the buffer contains \
         in the end depends on chance. Complete the operation first, with MPI_Wait for example."
    BUF_SEND "OX-BUF-SEND" "buf_send"
        "The program has changed a send buffer before the operation was complete. The receiver gets the old values or \
         the new ones, as it happens. Change the buffer after MPI_Wait."
    BUF_RECV "OX-BUF-RECV" "buf_recv"
        "The program has changed a receive buffer before the operation was complete. The values of the program or those \
         of the message are lost, as it happens. Use the buffer after MPI_Wait."
    BUF_EARLY "OX-BUF-EARLY" "buf_early"
        "The program has read or changed a buffer that an operation writes, before the operation was complete. It has \
         seen the old values or the new ones, as it happens. Use the buffer after MPI_Wait."
    REQ_ACTIVE "OX-REQ-ACTIVE" "req_active"
        "A request was never completed before MPI_Finalize. Nobody knows whether its operation has ended, and its buffer \
         may not be used. Complete every request with MPI_Wait, MPI_Test or one of their kind."
    REQ_UNSTARTED "OX-REQ-UNSTARTED" "req_unstarted"
        "A persistent request was waited for, and the process has never started any request: MPI_Start or MPI_Startall is \
         missing. The wait returns at once, and nothing was sent or received."
    REQ_FREED "OX-REQ-FREED" "req_freed"
        "The request of a receive was freed (MPI_Request_free) before it was completed. The program has no way to learn when the \
         message is there, so it may never use the buffer. Complete the receive with MPI_Wait or MPI_Test."
    OBJ_REQUEST "OX-OBJ-REQUEST" "obj_request"
        "A persistent request was not freed before MPI_Finalize (MPI_Request_free)."
    OBJ_COMM "OX-OBJ-COMM" "obj_comm"
        "A communicator was not freed before MPI_Finalize (MPI_Comm_free or MPI_Comm_disconnect). A program that does \
         this repeatedly runs out of communicators."
    OBJ_GROUP "OX-OBJ-GROUP" "obj_group"
        "A group was not freed before MPI_Finalize (MPI_Group_free)."
    OBJ_TYPE "OX-OBJ-TYPE" "obj_type"
        "A datatype was not freed before MPI_Finalize (MPI_Type_free)."
    OBJ_OP "OX-OBJ-OP" "obj_op"
        "A reduction operation was not freed before MPI_Finalize (MPI_Op_free)."
    OBJ_WIN "OX-OBJ-WIN" "obj_win"
        "A window was not freed before MPI_Finalize (MPI_Win_free)."
    OBJ_FILE "OX-OBJ-FILE" "obj_file"
        "A file was not closed before MPI_Finalize (MPI_File_close). What was written may not be there."
    MATCH_UNRECEIVED "OX-MATCH-UNRECEIVED" "match_unreceived"
        "A message was sent and never received. The send was complete only because the message was short enough to be \
         stored; a longer one would wait for ever."
}

/// The entry of a name, in any case of letters.
pub fn find(name: &str) -> Option<&'static Entry> {
    ALL.iter().copied().find(|entry| entry.name.eq_ignore_ascii_case(name))
}

impl Entry {
    /// The text of `oxmpi explain`.
    pub fn explain(&self) -> String {
        let (name, about) = (self.name, self.about);
        format!("{name}\n\n{about}\n\nWrong:\n\n{}\nRight:\n\n{}", program(self.wrong), program(self.right))
    }
}

/// A program without the comment that says how the tests run it.
pub fn program(text: &str) -> String {
    let code = text.lines().skip_while(|line| line.starts_with("//"));
    code.map(|line| if line.is_empty() { "\n".into() } else { format!("    {line}\n") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_one_form_and_differ() {
        for (index, entry) in ALL.iter().enumerate() {
            let mut parts = entry.name.split('-');
            assert_eq!(parts.next(), Some("OX"));
            let class = parts.next().unwrap();
            let classes =
                ["DEADLOCK", "MATCH", "COLL", "TYPE", "BUF", "REQ", "OBJ", "RMA", "FILE", "THREAD", "LIFE", "SEND"];
            assert!(classes.contains(&class), "{class}");
            assert!(ALL[..index].iter().all(|other| other.name != entry.name), "{}", entry.name);
            assert!(std::ptr::eq(find(&entry.name.to_lowercase()).unwrap(), *entry));
        }
        assert!(find("OX-NO-SUCH").is_none());
    }

    #[test]
    fn examples_say_what_is_expected() {
        for entry in ALL {
            assert!(entry.wrong.contains(&format!("// expect-stderr: {}", entry.name)), "{}", entry.name);
            assert!(entry.wrong.contains("// launch: --check"));
            assert!(
                entry.right.contains("// launch: --check=error")
                    || entry.right.contains("// launch: --check=strict,error")
            );
            assert!(!entry.right.contains("expect"), "{}", entry.name);
            let text = entry.explain();
            assert!(text.contains("MPI_Finalize()") && !text.contains("expect-stderr"), "{text}");
        }
    }
}

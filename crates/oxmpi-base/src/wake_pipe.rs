//! How a rank is woken that sleeps in `epoll_wait`, because it has sockets: by a byte in a pipe, which it watches with
//! them. Its sleep word says so (`wait.rs`); its block says where the pipe can be opened. An eventfd cannot be opened
//! by others, and a socket wakes later.
//!
//! The sleeper empties the pipe *before* it sets its sleep word, and only while no other thread of the process is
//! armed: a byte that comes later is for the sleep that follows.

use crate::pid::Pid;
use crate::segment::RankBlock;
use crate::socket::{self, Interest, Ready, ReadySet};
use crate::wait::{self, WakeFence};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// The pipe of this process, and the descriptors that it sleeps for.
pub struct Sleeper {
    reader: File,
    _writer: File,
    set: ReadySet,
    /// Threads between arming and the end of their sleep.
    armed: AtomicU32,
    /// A thread has slept since the set was last asked.
    has_slept: AtomicBool,
    /// Other processes can open the pipe.
    can_be_woken: bool,
}

/// The number of the pipe among the descriptors.
const PIPE: u64 = u64::MAX - 1;

/// A rank that cannot be woken looks this often.
const BLIND: Duration = Duration::from_millis(1);

impl Sleeper {
    /// Makes the pipe and tells the others where it is.
    pub fn new(me: &RankBlock) -> io::Result<Sleeper> {
        let (reader, writer) = socket::pipe()?;
        let set = ReadySet::new()?;
        set.add(reader.as_fd(), PIPE, Interest::Read)?;
        let reader = File::from(reader);
        let (place, inode) = ((std::process::id(), reader.as_raw_fd() as u32), reader.metadata()?.ino());
        let can_be_woken = open(place, inode).is_ok();
        me.wake_fd.store(place.1, Ordering::Relaxed);
        me.wake_inode.store(inode, Ordering::Relaxed);
        // Release: who sees the process sees the number of its descriptor, and its pipe.
        me.wake_pid.store(place.0, Ordering::Release);
        let (armed, has_slept) = (AtomicU32::new(0), AtomicBool::new(false));
        Ok(Sleeper { reader, _writer: writer.into(), set, armed, has_slept, can_be_woken })
    }

    /// The descriptors that are watched.
    pub fn set(&self) -> &ReadySet {
        &self.set
    }

    /// Whether a number that the set gave is the pipe's.
    pub fn is_pipe(ready: Ready) -> bool {
        ready == Ready(PIPE)
    }

    /// Whether a thread has slept since this was last asked: what the sockets have is not known then.
    pub fn has_slept(&self) -> bool {
        self.has_slept.load(Ordering::Relaxed) && self.has_slept.swap(false, Ordering::Relaxed)
    }

    /// Whether a thread sleeps, or is about to; the caller holds the lock of the process.
    pub fn is_armed(&self) -> bool {
        self.armed.load(Ordering::Acquire) != 0
    }

    /// As [`wait::prepare_to_sleep`]; the caller holds the lock of the process. [`Sleeper::sleep`] or
    /// [`Sleeper::disarm`] follows.
    pub fn arm(&self, me: &wait::Sleep<'_>, barrier: WakeFence) {
        if self.armed.fetch_add(1, Ordering::AcqRel) == 0 {
            let mut bytes = [0; 64];
            while matches!((&self.reader).read(&mut bytes), Ok(count) if count == bytes.len()) {}
        }
        me.announce(wait::IN_EPOLL, barrier);
    }

    /// The thread does not sleep after all.
    pub fn disarm(&self, me: &wait::Sleep<'_>) {
        self.armed.fetch_sub(1, Ordering::AcqRel);
        wait::wake_now(me.job, me.block);
    }

    /// Sleeps until a descriptor is ready or the pipe has a byte, or for `limit`.
    pub fn sleep(&self, me: &wait::Sleep<'_>, limit: Duration) {
        let start = crate::load::now();
        let limit = if self.can_be_woken { limit } else { limit.min(BLIND) };
        let mut ready = Vec::new();
        // The caller looks for itself; a set that cannot be asked makes this a short sleep.
        if self.set.wait(limit, &mut ready).is_err() {
            std::thread::sleep(limit.min(BLIND));
        }
        self.has_slept.store(true, Ordering::Relaxed);
        self.armed.fetch_sub(1, Ordering::AcqRel);
        me.woke_up(wait::IN_EPOLL, start);
    }
}

/// Writes a byte into the pipe of a rank that sleeps there.
#[cold]
pub(crate) fn wake(peer: &RankBlock) {
    static OPENED: OnceLock<Mutex<BTreeMap<Place, Opened>>> = OnceLock::new();
    let pid = peer.wake_pid.load(Ordering::Acquire);
    let place = (pid, peer.wake_fd.load(Ordering::Relaxed));
    let inode = peer.wake_inode.load(Ordering::Relaxed);
    let mut opened = OPENED.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    // One that cannot be opened is not tried again: the sleeper looks by itself now and then.
    let known = opened.entry(place).or_insert_with(|| Opened::new(place, inode));
    if known.inode != inode {
        *known = Opened::new(place, inode);
    }
    if let Some(pipe) = &mut known.pipe {
        // A pipe that is full wakes its reader anyhow.
        let _ = pipe.write(&[1]);
    }
}

/// A process, and the number of a descriptor there.
type Place = (u32, u32);

/// The pipe of a rank, if it could be opened.
struct Opened {
    inode: u64,
    pipe: Option<File>,
}

impl Opened {
    fn new(place: Place, inode: u64) -> Opened {
        Opened { inode, pipe: open(place, inode).ok() }
    }
}

/// Opens the pipe, for reading, too: writing never raises a signal then, even if the rank has died.
fn open((pid, fd): Place, inode: u64) -> io::Result<File> {
    let pid = Pid::new(pid).ok_or(io::ErrorKind::NotFound)?;
    let path = format!("/proc/{}/fd/{fd}", pid.get());
    // Opening anything but a pipe could block or have side effects: check first.
    if !std::fs::metadata(&path)?.file_type().is_fifo() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY;
    let pipe = File::options().read(true).write(true).custom_flags(flags).open(path)?;
    if pipe.metadata()?.ino() != inode {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(pipe)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::segment::Segment;
    use std::time::Instant;

    #[test]
    fn a_byte_wakes_a_sleeper_and_none_is_left_for_the_next_sleep() {
        let (_fd, segment) = Segment::create(1, 2).unwrap();
        let barrier = wait::register();
        let block = segment.rank(0);
        let sleeper = Sleeper::new(block).unwrap();
        let me = || wait::Sleep { job: segment.header(), block, alone: true };
        for _ in 0..50 {
            sleeper.arm(&me(), barrier);
            assert_eq!(segment.header().awake.load(Ordering::Relaxed), -1);
            std::thread::scope(|scope| {
                scope.spawn(|| wait::wake(segment.header(), block, barrier));
                let start = Instant::now();
                sleeper.sleep(&me(), Duration::from_secs(20));
                assert!(start.elapsed() < Duration::from_secs(10));
            });
            assert!(sleeper.has_slept() && !sleeper.has_slept());
            assert_eq!(segment.header().awake.load(Ordering::Relaxed), 0);
        }
        // A byte that came in vain is gone with the next arming.
        sleeper.arm(&me(), barrier);
        sleeper.disarm(&me());
        sleeper.arm(&me(), barrier);
        let start = Instant::now();
        sleeper.sleep(&me(), Duration::from_millis(30));
        assert!(start.elapsed() >= Duration::from_millis(25));
        assert_eq!(segment.header().awake.load(Ordering::Relaxed), 0);
    }

    /// What a block says is not believed: only a pipe is opened, and nothing is written elsewhere.
    #[test]
    fn nothing_but_a_pipe_is_opened() {
        let file = File::open("/dev/null").unwrap();
        let own = std::process::id();
        assert!(open((own, file.as_raw_fd() as u32), file.metadata().unwrap().ino()).is_err());
        assert!(open((own, 1 << 20), 1).is_err());
        assert!(open((0, 0), 1).is_err() && open((u32::MAX, 0), 1).is_err());
        let (reader, _writer) = socket::pipe().unwrap();
        let reader = File::from(reader);
        let inode = reader.metadata().unwrap().ino();
        assert!(open((own, reader.as_raw_fd() as u32), inode).is_ok());
        assert!(open((own, reader.as_raw_fd() as u32), inode + 1).is_err(), "another pipe");
    }

    /// A process that leaves MPI and comes back has another pipe, which may have the number of the first one.
    #[test]
    fn a_new_pipe_with_an_old_number_is_found() {
        let (_fd, segment) = Segment::create(1, 2).unwrap();
        let barrier = wait::register();
        let block = segment.rank(0);
        let me = || wait::Sleep { job: segment.header(), block, alone: true };
        for _ in 0..5 {
            let sleeper = Sleeper::new(block).unwrap();
            sleeper.arm(&me(), barrier);
            wait::wake(segment.header(), block, barrier);
            let start = Instant::now();
            sleeper.sleep(&me(), Duration::from_secs(5));
            assert!(start.elapsed() < Duration::from_secs(4), "the byte went to another pipe");
        }
    }
}

/// The protocol with which no byte is lost: the waker publishes, then looks at the word; the sleeper
/// empties the pipe, sets the word, polls for what was published, then waits for a byte.
#[cfg(all(test, loom))]
mod loom_model {
    use crate::sync::{AtomicU32, Ordering, fence};
    use loom::sync::{Arc, Condvar, Mutex};

    #[derive(Default)]
    struct Pipe {
        bytes: Mutex<u32>,
        written: Condvar,
    }

    struct Rank {
        word: AtomicU32,
        packets: AtomicU32,
        pipe: Pipe,
    }

    impl Rank {
        /// As `wait::wake` with the fence of the waker, which `membarrier` stands for otherwise.
        fn send(&self) {
            self.packets.fetch_add(1, Ordering::Release);
            fence(Ordering::SeqCst);
            if self.word.load(Ordering::Relaxed) != 0 && self.word.swap(0, Ordering::AcqRel) != 0 {
                *self.pipe.bytes.lock().unwrap() += 1;
                self.pipe.written.notify_one();
            }
        }

        /// Waits for so many packets in all.
        fn receive(&self, wanted: u32) {
            while self.packets.load(Ordering::Acquire) < wanted {
                *self.pipe.bytes.lock().unwrap() = 0;
                self.word.swap(5, Ordering::SeqCst);
                fence(Ordering::SeqCst);
                if self.packets.load(Ordering::Acquire) >= wanted {
                    self.word.swap(0, Ordering::AcqRel);
                    return;
                }
                let mut bytes = self.pipe.bytes.lock().unwrap();
                while *bytes == 0 {
                    // The model fails here, as a deadlock, if a byte is lost.
                    bytes = self.pipe.written.wait(bytes).unwrap();
                }
                drop(bytes);
                let _ = self.word.compare_exchange(5, 0, Ordering::AcqRel, Ordering::Relaxed);
            }
        }
    }

    #[test]
    fn loom_no_byte_is_lost() {
        loom::model(|| {
            let rank = Arc::new(Rank { word: AtomicU32::new(0), packets: AtomicU32::new(0), pipe: Pipe::default() });
            let sender = {
                let rank = Arc::clone(&rank);
                loom::thread::spawn(move || {
                    rank.send();
                    rank.send();
                })
            };
            rank.receive(1);
            rank.receive(2);
            sender.join().unwrap();
        });
    }
}

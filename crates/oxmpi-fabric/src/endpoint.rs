//! An endpoint with its queues and buffers.

use crate::PACKET;
use crate::abi::*;
use crate::card::{Card, Seat};
use crate::library::Functions;
use crate::slab::{BUFFERS, Slab};
use std::collections::VecDeque;
use std::ffi::{CStr, CString, c_int, c_void};
use std::os::fd::{BorrowedFd, RawFd};
use std::ptr::null_mut;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// A peer, as the endpoint knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address(pub(crate) u64);

/// A buffer with a packet that has come, until it is [returned](Endpoint::give_back).
#[derive(PartialEq, Eq, Debug)]
pub struct BufferId(usize);

/// A buffer for a packet to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotId(pub(crate) usize);

/// What an endpoint has to tell.
pub enum Event {
    /// A packet of so many bytes has come.
    Arrived(BufferId, usize),
    /// A packet was sent: its buffer is free again.
    Sent(SlotId),
    /// A packet could not be sent, for this reason. Its buffer is free again.
    Lost(SlotId, String),
    /// Memory of a peer was read, or could not be. The buffer is [kept](Endpoint::keep) by the caller.
    Read(SlotId, Result<(), String>),
}

impl SlotId {
    /// A small number.
    pub fn number(self) -> usize {
        self.0
    }
}

/// Providers that are used without being named: those of fast networks.
const REAL: [&str; 6] = ["cxi", "efa", "opx", "verbs", "psm3", "psm2"];
/// A provider with which jobs hang: the thread that shall make progress waits for ever, though packets are there and its queue
/// is read all the time. It is deprecated.
const BROKEN: &str = "sockets";
/// Demands on memory that are met.
const MODES: c_int = MR_LOCAL | MR_VIRT_ADDR | MR_ALLOCATED | MR_PROV_KEY | MR_ENDPOINT;
/// How long an endpoint may take to open.
const LIMIT: Duration = Duration::from_secs(10);
/// The longest name of an endpoint.
const MOST_NAME: usize = 256;
/// Completions that are read in one call.
const AT_ONCE: usize = 16;
/// The providers that signal each completion of a queue with a descriptor, by two system calls. The descriptor of one queue
/// tells of all their sockets, so that another queue needs none.
const SIGNAL_EACH: [&str; 2] = ["tcp", "tcp;ofi_rxm"];
/// Completions that the queue has room for, unless the provider has less.
const QUEUE: usize = 4096;

pub struct Endpoint {
    pub(crate) functions: Functions,
    /// What libfabric has found, and the one of them that is used.
    info: *mut Info,
    pub(crate) chosen: *mut Info,
    fabric: *mut Fabric,
    pub(crate) domain: *mut Domain,
    av: *mut Av,
    cq: *mut Cq,
    /// A queue of its own for what this endpoint sends and reads, or null.
    sent: *mut Cq,
    /// Can be read when the queue has something, where the provider has that.
    wait: Option<RawFd>,
    pub(crate) ep: *mut Ep,
    pub(crate) provider: String,
    /// The card that was chosen among several, in words.
    card: String,
    name: Vec<u8>,
    pub(crate) sending: Vec<Slab>,
    pub(crate) free: Vec<usize>,
    /// Buffers, or their contexts, with which memory of a peer is read now.
    pub(crate) reading: Vec<usize>,
    /// Keys of regions, where the provider does not choose them.
    pub(crate) next_key: u64,
    receiving: Vec<Slab>,
    /// Buffers that the provider has not taken yet.
    unposted: VecDeque<usize>,
}

// SAFETY: all objects belong to this endpoint alone, and `FI_THREAD_DOMAIN` lets any thread use them, one at a time: every
// function takes the endpoint as a whole.
unsafe impl Send for Endpoint {}

/// The version of libfabric and its providers with reliable datagrams, for people; an error where there is none.
pub fn providers() -> Result<String, String> {
    let functions = Functions::load()?;
    let mut names: Vec<String> = Vec::new();
    // SAFETY: as in `Endpoint::find`; the list is not changed while it is read.
    unsafe {
        let hints = (functions.dupinfo)(std::ptr::null());
        if hints.is_null() {
            return Err("libfabric has no memory".into());
        }
        (*hints).mode = u64::MAX;
        (*(*hints).ep_attr).kind = EP_RDM;
        (*(*hints).domain_attr).mr_mode = MODES;
        let mut found = null_mut();
        let rc = (functions.getinfo)(API, std::ptr::null(), std::ptr::null(), 0, hints, &raw mut found);
        (functions.freeinfo)(hints);
        let mut info = found;
        while rc == 0 && !info.is_null() {
            let name = provider_of(info);
            if !names.contains(&name) {
                names.push(name);
            }
            info = (*info).next;
        }
        if rc == 0 && !found.is_null() {
            (functions.freeinfo)(found);
        }
    }
    let (real, test): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| is_real(name));
    let list = |names: Vec<String>| if names.is_empty() { "none".into() } else { names.join(", ") };
    let (real, test) = (list(real), list(test));
    Ok(format!("libfabric {} has the providers of fast networks: {real}; others: {test}", functions.version()))
}

/// Whether a provider is one of a fast network.
fn is_real(provider: &str) -> bool {
    provider.split(';').any(|part| REAL.contains(&part))
}

/// # Safety
/// The info comes from the library.
unsafe fn provider_of(info: *const Info) -> String {
    // SAFETY: an info has attributes, and a name that ends or none.
    unsafe {
        let name = (*(*info).fabric_attr).prov_name;
        if name.is_null() { String::new() } else { CStr::from_ptr(name).to_string_lossy().into_owned() }
    }
}

/// The card of an info, if it is one on a bus that the kernel describes.
///
/// # Safety
/// The info comes from the library.
unsafe fn card_of(info: *const Info) -> Option<Card> {
    // SAFETY: an info has a card or none, and a card may lack each of its parts; names end.
    unsafe {
        let nic = (*info).nic.as_ref()?;
        let bus = nic.bus.as_ref().filter(|bus| bus.kind == BUS_PCI)?;
        let named = [(*(*info).domain_attr).name, nic.device.as_ref().map_or(null_mut(), |device| device.name)];
        let name = named.into_iter().find(|name| !name.is_null())?;
        Some(Card {
            name: CStr::from_ptr(name).to_string_lossy().into_owned(),
            pci: format!("{:04x}:{:02x}:{:02x}.{:x}", bus.domain, bus.bus, bus.device, bus.function),
            is_down: nic.link.as_ref().is_some_and(|link| link.state == LINK_DOWN),
        })
    }
}

impl Endpoint {
    /// Opens an endpoint of a provider, or of the first one of a fast network that libfabric names, on the nearest card.
    pub fn open(provider: Option<&str>, seat: &Seat) -> Result<Endpoint, String> {
        let (provider, seat) = (provider.map(str::to_owned), seat.clone());
        // Some providers wait for ever for what is not there.
        let (tell, told) = mpsc::channel();
        let open = move || {
            // Nobody listens when it was too late.
            let _ = tell.send(Endpoint::open_here(provider.as_deref(), &seat));
        };
        let thread = thread::Builder::new().name("libfabric".into()).spawn(open);
        let thread = thread.map_err(|error| format!("no thread can be started: {error}"))?;
        match told.recv_timeout(LIMIT) {
            Ok(endpoint) => {
                // It has nothing more to do: the program finds no thread that it has not made.
                let _ = thread.join();
                endpoint
            }
            Err(RecvTimeoutError::Timeout) => {
                Err(format!("libfabric has not opened an endpoint within {} seconds", LIMIT.as_secs()))
            }
            Err(RecvTimeoutError::Disconnected) => Err("libfabric could not be used".into()),
        }
    }

    fn open_here(provider: Option<&str>, seat: &Seat) -> Result<Endpoint, String> {
        let functions = Functions::load()?;
        let mut endpoint = Endpoint {
            functions,
            info: null_mut(),
            chosen: null_mut(),
            fabric: null_mut(),
            domain: null_mut(),
            av: null_mut(),
            cq: null_mut(),
            sent: null_mut(),
            wait: None,
            ep: null_mut(),
            provider: String::new(),
            card: String::new(),
            name: Vec::new(),
            sending: Vec::new(),
            free: Vec::new(),
            reading: Vec::new(),
            next_key: 0,
            receiving: Vec::new(),
            unposted: VecDeque::new(),
        };
        endpoint.find(provider, RMA | READ | REMOTE_READ).or_else(|_| endpoint.find(provider, 0))?;
        endpoint.choose_card(seat);
        endpoint.make()?;
        Ok(endpoint)
    }

    /// The provider, the card and the library, for people: `tcp;ofi_rxm (libfabric 1.17)`.
    pub fn describe(&self) -> String {
        format!("{}{} (libfabric {})", self.provider, self.card, self.functions.version())
    }

    /// What two endpoints must have in common: the provider, and what it speaks.
    pub fn protocol(&self) -> String {
        // SAFETY: the info lives as long as `self`.
        let attr = unsafe { &*(*self.chosen).ep_attr };
        format!("{}, protocol {:#x} version {}", self.provider, attr.protocol, attr.protocol_version)
    }

    /// The name under which other endpoints of the provider reach this one.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// Asks libfabric for a provider.
    fn find(&mut self, provider: Option<&str>, more: u64) -> Result<(), String> {
        if let Some(broken) = provider.filter(|name| name.split(';').any(|part| part == BROKEN)) {
            return Err(format!("provider {broken} is not used: its own thread falls asleep while bytes wait for it"));
        }
        let name = provider.map(CString::new).transpose().map_err(|_| "the name of the provider has a zero byte")?;
        // SAFETY: the library allocates all parts of an info; the name is its own copy, since `fi_freeinfo` frees it. What an
        // earlier search has found is not used.
        unsafe {
            if !self.info.is_null() {
                (self.functions.freeinfo)(std::mem::replace(&mut self.info, null_mut()));
            }
            let hints = (self.functions.dupinfo)(std::ptr::null());
            if hints.is_null() {
                return Err("libfabric has no memory".into());
            }
            (*hints).caps = MSG | SEND | RECV | more;
            (*hints).mode = MODE_CONTEXT | MODE_CONTEXT2;
            (*(*hints).ep_attr).kind = EP_RDM;
            (*(*hints).domain_attr).threading = THREAD_DOMAIN;
            (*(*hints).domain_attr).resource_mgmt = RM_ENABLED;
            (*(*hints).domain_attr).mr_mode = MODES;
            (*(*hints).tx_attr).msg_order = ORDER_SAS;
            (*(*hints).rx_attr).msg_order = ORDER_SAS;
            if let Some(name) = &name {
                (*(*hints).fabric_attr).prov_name = strdup(name.as_ptr());
            }
            let rc = (self.functions.getinfo)(API, std::ptr::null(), std::ptr::null(), 0, hints, &raw mut self.info);
            (self.functions.freeinfo)(hints);
            let what = provider.map_or_else(|| "provider".into(), |name| format!("provider {name}"));
            if rc != 0 || self.info.is_null() {
                let why = self.functions.error("fi_getinfo", rc as isize);
                return Err(format!("there is no {what} with reliable datagrams here: {why}"));
            }
            self.chosen = self.info;
            while provider.is_none() && !self.chosen.is_null() && !is_real(&provider_of(self.chosen)) {
                self.chosen = (*self.chosen).next;
            }
            if self.chosen.is_null() {
                let names = REAL.join(", ");
                return Err(format!(
                    "libfabric has no provider of a fast network here ({names}); others are used by name only"
                ));
            }
            self.provider = provider_of(self.chosen);
            let limits = &*(*self.chosen).ep_attr;
            if limits.max_msg_size < PACKET || limits.msg_prefix_size > 0 {
                return Err(format!("packets of {PACKET} bytes are too long for the provider {}", self.provider));
            }
        }
        Ok(())
    }

    /// Goes on with the nearest of the cards that speak the same as the first one.
    fn choose_card(&mut self, seat: &Seat) {
        // SAFETY: `find` has chosen an info of the list, which lives as long as `self`; `card_of` reads what it has.
        unsafe {
            let speaks = |info: *mut Info| {
                let attr = &*(*info).ep_attr;
                (provider_of(info), attr.protocol, attr.protocol_version, (*info).addr_format, (*info).caps & RMA)
            };
            let first = speaks(self.chosen);
            let (mut infos, mut cards): (Vec<*mut Info>, Vec<Card>) = Default::default();
            let mut info = self.chosen;
            while !info.is_null() {
                if speaks(info) == first
                    && let Some(card) = card_of(info)
                    && !cards.iter().any(|known| known.name == card.name)
                {
                    infos.push(info);
                    cards.push(card);
                }
                info = (*info).next;
            }
            if let Some(index) = seat.choose(&cards) {
                self.chosen = infos[index];
                let others =
                    if cards.len() > 1 { format!(", the nearest of {} cards,", cards.len()) } else { String::new() };
                self.card = format!(" on {} at {}{others}", cards[index].name, cards[index].pci);
            }
        }
    }

    pub(crate) fn check(&self, call: &str, rc: c_int) -> Result<(), String> {
        let failed = || format!("provider {}: {}", self.provider, self.functions.error(call, rc as isize));
        if rc == 0 { Ok(()) } else { Err(failed()) }
    }

    fn make(&mut self) -> Result<(), String> {
        // SAFETY: every object is made by the one before it, with the info that the library gave, and has the table of its
        // kind. They are closed in the reverse order.
        unsafe {
            let info = self.chosen;
            let rc = (self.functions.fabric)((*info).fabric_attr.cast(), &raw mut self.fabric, null_mut());
            self.check("fi_fabric", rc)?;
            let rc = ((*(*self.fabric).ops).domain)(self.fabric, info, &raw mut self.domain, null_mut());
            self.check("fi_domain", rc)?;
            let mut attr = AvAttr { kind: AV_TABLE, ..AvAttr::default() };
            let rc = ((*(*self.domain).ops).av_open)(self.domain, &raw mut attr, &raw mut self.av, null_mut());
            self.check("fi_av_open", rc)?;
            self.cq = self.open_queue(&[WAIT_FD, WAIT_NONE])?;
            if self.wait.is_some() && SIGNAL_EACH.contains(&self.provider.as_str()) {
                self.sent = self.open_queue(&[WAIT_NONE])?;
            }
            let rc = ((*(*self.domain).ops).endpoint)(self.domain, info, &raw mut self.ep, null_mut());
            self.check("fi_endpoint", rc)?;
            let ops = (*self.ep).fid.ops;
            self.check("fi_ep_bind", ((*ops).bind)(self.ep.cast(), self.av.cast(), 0))?;
            if self.sent.is_null() {
                self.check("fi_ep_bind", ((*ops).bind)(self.ep.cast(), self.cq.cast(), SEND | RECV))?;
            } else {
                self.check("fi_ep_bind", ((*ops).bind)(self.ep.cast(), self.cq.cast(), RECV))?;
                self.check("fi_ep_bind", ((*ops).bind)(self.ep.cast(), self.sent.cast(), SEND))?;
            }
            self.check("fi_enable", ((*ops).control)(self.ep.cast(), ENABLE, null_mut()))?;
            let mut name = vec![0; MOST_NAME];
            let mut length = name.len();
            let getname = (*(*self.ep).cm).getname;
            self.check("fi_getname", getname(self.ep.cast(), name.as_mut_ptr().cast(), &raw mut length))?;
            name.truncate(length);
            self.name = name;
        }
        Ok(())
    }

    /// Opens a queue of completions with the first of these kinds of waiting that the provider has.
    ///
    /// # Safety
    /// There is a domain.
    unsafe fn open_queue(&mut self, kinds: &[c_int]) -> Result<*mut Cq, String> {
        let (mut rc, mut cq) = (0, null_mut());
        for &wait_obj in kinds {
            let mut attr = CqAttr {
                size: QUEUE,
                flags: 0,
                format: CQ_FORMAT_MSG,
                wait_obj,
                signaling_vector: 0,
                wait_cond: 0,
                wait_set: null_mut(),
            };
            // SAFETY: the domain has the table of its kind; a queue that was made has it, too, and its descriptor is a
            // number that fits.
            unsafe {
                rc = ((*(*self.domain).ops).cq_open)(self.domain, &raw mut attr, &raw mut cq, null_mut());
                if rc == 0 && wait_obj == WAIT_FD {
                    let mut fd: RawFd = -1;
                    let got = ((*(*cq).fid.ops).control)(cq.cast(), GET_WAIT, (&raw mut fd).cast());
                    self.wait = (got == 0 && fd >= 0).then_some(fd);
                }
            }
            if rc == 0 {
                break;
            }
        }
        self.check("fi_cq_open", rc).map(|()| cq)
    }

    /// A descriptor that can be read when something has come, if [`Endpoint::may_wait`] has said so before.
    pub fn wait_descriptor(&self) -> Option<BorrowedFd<'_>> {
        // SAFETY: the descriptor is open as long as the queue, and so as long as the endpoint.
        self.wait.map(|fd| unsafe { BorrowedFd::borrow_raw(fd) })
    }

    /// Whether a thread may sleep until the descriptor can be read: nothing has come that was not read.
    pub fn may_wait(&self) -> bool {
        let mut queue: *mut Fid = self.cq.cast();
        // SAFETY: the fabric has the table of its kind, and the queue is one of it.
        self.wait.is_some() && unsafe { ((*(*self.fabric).ops).trywait)(self.fabric, &raw mut queue, 1) } == 0
    }

    /// More buffers, registered if the provider wants that.
    fn slab(&mut self, access: u64) -> Result<Slab, String> {
        let mut slab = Slab::new();
        if self.has_mode(MR_LOCAL) {
            let (memory, bytes) = slab.memory();
            slab.region = Some(self.register(memory, bytes, access)?);
        }
        Ok(slab)
    }

    /// So many buffers more to send from.
    pub fn send_more(&mut self, count: usize) -> Result<(), String> {
        for _ in 0..count.div_ceil(BUFFERS) {
            let slab = self.slab(SEND | READ)?;
            let first = self.sending.len() * BUFFERS;
            self.sending.push(slab);
            self.free.extend(first..first + BUFFERS);
        }
        Ok(())
    }

    /// Posts so many receive buffers more.
    pub fn receive_more(&mut self, count: usize) -> Result<(), String> {
        for _ in 0..count.div_ceil(BUFFERS) {
            let slab = self.slab(RECV)?;
            let first = self.receiving.len() * BUFFERS;
            self.receiving.push(slab);
            self.unposted.extend(first..first + BUFFERS);
        }
        self.post()
    }

    /// Gives the provider the buffers that it has not taken yet.
    fn post(&mut self) -> Result<(), String> {
        while let Some(&number) = self.unposted.front() {
            let slab = &self.receiving[number / BUFFERS];
            let (buffer, context) = (slab.buffer(number % BUFFERS), slab.context(number % BUFFERS));
            // SAFETY: nobody uses buffer and context until the packet has come.
            let rc = unsafe {
                let recv = (*(*self.ep).msg).recv;
                recv(self.ep, buffer.as_ptr().cast(), PACKET, slab.descriptor(), ADDR_UNSPEC, context)
            };
            match rc {
                0 => drop(self.unposted.pop_front()),
                EAGAIN => break,
                rc => return Err(format!("provider {}: {}", self.provider, self.functions.error("fi_recv", rc))),
            }
        }
        Ok(())
    }

    /// Whether the provider has not taken all receive buffers yet.
    pub fn has_unposted(&self) -> bool {
        !self.unposted.is_empty()
    }

    /// A peer, by the name of its endpoint.
    pub fn insert(&mut self, name: &[u8]) -> Result<Address, String> {
        if name.len() != self.name.len() {
            return Err(format!(
                "provider {}: the peer's address has {} bytes instead of {}",
                self.provider,
                name.len(),
                self.name.len()
            ));
        }
        let mut address = 0;
        // SAFETY: the name has the length that addresses of this provider have.
        let rc =
            unsafe { ((*(*self.av).ops).insert)(self.av, name.as_ptr().cast(), 1, &raw mut address, 0, null_mut()) };
        if rc == 1 { Ok(Address(address)) } else { Err(self.functions.error("fi_av_insert", rc as isize)) }
    }

    /// A buffer to send from; `None` while all are on their way.
    pub fn slot(&mut self) -> Option<SlotId> {
        self.free.pop().map(SlotId)
    }

    /// Whether a buffer to send from is free.
    pub fn has_slot(&self) -> bool {
        !self.free.is_empty()
    }

    /// The bytes of a buffer to send from.
    pub fn slot_bytes(&mut self, slot: SlotId) -> &mut [u8] {
        let slab = &self.sending[slot.0 / BUFFERS];
        // SAFETY: the buffer has so many bytes, and the slot is not on its way, so nobody else uses them.
        unsafe { std::slice::from_raw_parts_mut(slab.buffer(slot.0 % BUFFERS).as_ptr(), PACKET) }
    }

    /// The buffer is not sent.
    pub fn keep(&mut self, slot: SlotId) {
        self.free.push(slot.0);
    }

    /// Sends the beginning of a buffer; `false`, and the buffer is free again, if the provider cannot take it now.
    pub fn send(&mut self, slot: SlotId, length: usize, to: Address) -> Result<bool, String> {
        assert!(length <= PACKET);
        let slab = &self.sending[slot.0 / BUFFERS];
        let (buffer, context) = (slab.buffer(slot.0 % BUFFERS), slab.context(slot.0 % BUFFERS));
        // SAFETY: nobody writes buffer and context until the packet was sent: the slot is free only then.
        let rc = unsafe {
            let send = (*(*self.ep).msg).send;
            send(self.ep, buffer.as_ptr().cast(), length, slab.descriptor(), to.0, context)
        };
        if rc != 0 {
            self.keep(slot);
        }
        match rc {
            0 => Ok(true),
            EAGAIN => Ok(false),
            rc => Err(format!("provider {}: {}", self.provider, self.functions.error("fi_send", rc))),
        }
    }

    /// Whether a packet is still on its way.
    pub fn is_sending(&self) -> bool {
        self.free.len() < self.sending.len() * BUFFERS
    }

    /// Goes on with everything; `tell` gets what has happened. An error ends the endpoint.
    pub fn progress(&mut self, mut tell: impl FnMut(Event)) -> Result<(), String> {
        self.post()?;
        // A queue that has something is read without a system call.
        if !self.sent.is_null() && self.is_sending() {
            self.drain(self.sent, &mut tell)?;
        }
        self.drain(self.cq, &mut tell)
    }

    /// Takes all completions of a queue.
    fn drain(&mut self, queue: *mut Cq, tell: &mut impl FnMut(Event)) -> Result<(), String> {
        let mut entries = [CqEntry { context: null_mut(), flags: 0, len: 0 }; AT_ONCE];
        loop {
            // SAFETY: the queue is one of this endpoint, and there is room for so many completions of the format that it has.
            let rc = unsafe { ((*(*queue).ops).read)(queue, entries.as_mut_ptr().cast(), AT_ONCE) };
            match usize::try_from(rc) {
                Ok(count) => {
                    for &CqEntry { context, len, .. } in &entries[..count.min(AT_ONCE)] {
                        match self.find_buffer(context) {
                            Found::Sending(slot) if self.end_reading(slot) => tell(Event::Read(SlotId(slot), Ok(()))),
                            Found::Sending(slot) => {
                                self.free.push(slot);
                                tell(Event::Sent(SlotId(slot)));
                            }
                            Found::Receiving(buffer) => tell(Event::Arrived(BufferId(buffer), len.min(PACKET))),
                            Found::Nothing => {}
                        }
                    }
                    if count < AT_ONCE {
                        return Ok(());
                    }
                }
                Err(_) if rc == EAGAIN => return Ok(()),
                Err(_) if rc == EAVAIL => self.read_error(queue, tell)?,
                Err(_) => return Err(self.functions.error("fi_cq_read", rc)),
            }
        }
    }

    /// The buffer of a completion is found by its context, so nothing else of it is believed.
    fn find_buffer(&self, context: *const c_void) -> Found {
        let find = |slabs: &[Slab]| {
            let mut all = slabs.iter().enumerate();
            all.find_map(|(at, slab)| Some(at * BUFFERS + slab.index_of(context)?))
        };
        match (find(&self.sending), find(&self.receiving)) {
            (Some(slot), _) => Found::Sending(slot),
            (None, Some(buffer)) => Found::Receiving(buffer),
            (None, None) => Found::Nothing,
        }
    }

    fn read_error(&mut self, queue: *mut Cq, tell: &mut impl FnMut(Event)) -> Result<(), String> {
        // SAFETY: consists of integers and pointers, for which all bits zero are valid; the provider fills it.
        let mut error: CqError = unsafe { std::mem::zeroed() };
        // SAFETY: the queue is one of this endpoint, and there is room for the error.
        let rc = unsafe { ((*(*queue).ops).readerr)(queue, &raw mut error, 0) };
        match rc {
            EAGAIN => return Ok(()),
            rc if rc < 0 => return Err(self.functions.error("fi_cq_readerr", rc)),
            _ => {}
        }
        let text =
            |what: &str| format!("provider {}: {}", self.provider, self.functions.error(what, -(error.err as isize)));
        match self.find_buffer(error.context) {
            Found::Sending(slot) if self.reading.contains(&slot) => {
                let text = text("reading the peer's memory");
                self.end_reading(slot);
                tell(Event::Read(SlotId(slot), Err(text)));
            }
            Found::Sending(slot) => {
                let text = text("sending");
                self.free.push(slot);
                tell(Event::Lost(SlotId(slot), text));
            }
            // Something has come that is no packet, or only a part of one: a peer that has ended.
            Found::Receiving(buffer) => self.unposted.push_back(buffer),
            Found::Nothing => {}
        }
        Ok(())
    }

    /// The packet in a buffer.
    pub fn packet(&self, buffer: &BufferId) -> &[u8] {
        let slab = &self.receiving[buffer.0 / BUFFERS];
        // SAFETY: the buffer has so many bytes, which the provider does not write before it is posted again; that takes
        // the id.
        unsafe { std::slice::from_raw_parts(slab.buffer(buffer.0 % BUFFERS).as_ptr(), PACKET) }
    }

    /// The packet was taken: the next one may come there.
    pub fn give_back(&mut self, buffer: BufferId) -> Result<(), String> {
        self.unposted.push_back(buffer.0);
        self.post()
    }
}

/// What a context belongs to.
enum Found {
    Sending(usize),
    Receiving(usize),
    Nothing,
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        let slabs = self.sending.iter().chain(&self.receiving);
        let regions = slabs.filter_map(|slab| slab.region.as_ref()).map(|region| region.object());
        let objects = [self.ep.cast::<Fid>()].into_iter().chain(regions);
        let last = [self.av.cast(), self.cq.cast(), self.sent.cast(), self.domain.cast(), self.fabric.cast::<Fid>()];
        for object in objects.chain(last).filter(|object| !object.is_null()) {
            // SAFETY: each was made by the library and is closed once, the endpoint before its buffers' regions and all
            // else. One that cannot be closed is left. The memory of the buffers is not freed: a provider may still read it.
            unsafe { ((*(*object).ops).close)(object) };
        }
        if !self.info.is_null() {
            // SAFETY: the library made it, and nothing uses it any more.
            unsafe { (self.functions.freeinfo)(self.info) };
        }
    }
}

unsafe extern "C" {
    /// Of the C library, with which libfabric frees the copy.
    fn strdup(text: *const std::ffi::c_char) -> *mut std::ffi::c_char;
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxmpi_base::socket::{Interest, ReadySet};
    use std::time::Instant;

    /// Two endpoints exchange packets; where there is no libfabric, the error says so.
    #[test]
    fn packets_arrive() {
        let open = || Endpoint::open(Some("tcp"), &Seat::own(0));
        let (mut a, mut b) = match (open(), open()) {
            (Ok(a), Ok(b)) => (a, b),
            (Err(error), _) | (_, Err(error)) => {
                assert!(error.contains(crate::NAME) || error.contains("no provider tcp"), "{error}");
                return println!("skipped, because {error}");
            }
        };
        b.receive_more(8).unwrap();
        a.send_more(8).unwrap();
        let to = a.insert(b.name()).unwrap();
        let (mut sent, mut got) = (0u32, 0u32);
        let end = Instant::now() + Duration::from_secs(20);
        while got < 100 {
            assert!(Instant::now() < end, "{sent} sent, {got} received");
            if sent < 100
                && let Some(slot) = a.slot()
            {
                a.slot_bytes(slot)[..4].copy_from_slice(&sent.to_le_bytes());
                if a.send(slot, 4 + 100 * sent as usize, to).unwrap() {
                    sent += 1;
                }
            }
            a.progress(|event| assert!(matches!(event, Event::Sent(_)))).unwrap();
            let mut events = Vec::new();
            b.progress(|event| events.push(event)).unwrap();
            for event in events {
                let Event::Arrived(buffer, length) = event else { unreachable!("it sends nothing") };
                assert_eq!(b.packet(&buffer)[..4], got.to_le_bytes());
                assert_eq!(length, 4 + 100 * got as usize);
                got += 1;
                b.give_back(buffer).unwrap();
            }
        }
        while a.is_sending() {
            a.progress(|_| {}).unwrap();
        }
        assert!(a.insert(&[0; 3]).unwrap_err().contains("3 bytes"));
    }

    /// What is sent costs no signals, and one who sleeps is told of what has come.
    #[test]
    fn a_sleeper_is_woken() {
        let open = || Endpoint::open(Some("tcp"), &Seat::own(0));
        let (Ok(mut a), Ok(mut b)) = (open(), open()) else {
            return println!("skipped, because there is no libfabric");
        };
        assert!(!a.sent.is_null());
        b.receive_more(8).unwrap();
        a.send_more(8).unwrap();
        let to = a.insert(b.name()).unwrap();
        let set = ReadySet::new().unwrap();
        set.add(b.wait_descriptor().unwrap(), 1, Interest::Read).unwrap();
        let end = Instant::now() + Duration::from_secs(20);
        for turn in 0..3 {
            let mut sent = false;
            let mut arrived = false;
            while !arrived {
                assert!(Instant::now() < end, "turn {turn}");
                if !sent && let Some(slot) = a.slot() {
                    sent = a.send(slot, 100, to).unwrap();
                }
                a.progress(|_| {}).unwrap();
                // Before, the two are still connecting.
                if sent && !a.is_sending() && b.may_wait() {
                    set.wait(Duration::from_secs(10), &mut Vec::new()).unwrap();
                }
                let mut events = Vec::new();
                b.progress(|event| events.push(event)).unwrap();
                for event in events {
                    let Event::Arrived(buffer, _) = event else { unreachable!("it sends nothing") };
                    arrived = true;
                    b.give_back(buffer).unwrap();
                }
            }
        }
        assert!(end - Instant::now() > Duration::from_secs(15), "sleeps ended late");
    }

    #[test]
    fn a_provider_that_hangs_is_not_used() {
        let error = Endpoint::open(Some("sockets"), &Seat::own(0)).map(drop).unwrap_err();
        assert!(error.contains("provider sockets is not used") || error.contains(crate::NAME), "{error}");
    }

    #[test]
    fn an_unknown_provider_is_told() {
        let error = Endpoint::open(Some("no-such-provider"), &Seat::own(0)).map(drop).unwrap_err();
        assert!(error.contains("no-such-provider") || error.contains(crate::NAME), "{error}");
    }
}

//! Memory that is registered with an endpoint, and reading the memory of a peer (`fi_read`).

use crate::abi::{ENABLE, Fid, MR_ALLOCATED, MR_ENDPOINT, MR_LOCAL, MR_VIRT_ADDR, Mr, READ, REMOTE_READ, RMA};
use crate::endpoint::{Address, Endpoint, SlotId};
use crate::slab::BUFFERS;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

/// Registered memory.
pub struct Region(*mut Mr);

// SAFETY: the object belongs to one endpoint, and is used with it only.
unsafe impl Send for Region {}

/// What a peer needs to read memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Remote {
    pub address: u64,
    pub key: u64,
}

/// Memory of this process that peers may read, until it is [taken back](Endpoint::take_back).
pub struct Lent {
    region: Region,
    pub remote: Remote,
}

/// Pages have at least so many bytes.
const PAGE: usize = 4096;

impl Region {
    pub(crate) fn object(&self) -> *mut Fid {
        self.0.cast()
    }

    pub(crate) fn descriptor(&self) -> *mut c_void {
        // SAFETY: the region lives until it is closed, which takes it.
        unsafe { (*self.0).descriptor }
    }

    fn close(self) {
        // SAFETY: the library made it, and it is closed once. One that cannot be closed is left.
        unsafe { ((*(*self.object()).ops).close)(self.object()) };
    }
}

impl Endpoint {
    /// Whether this endpoint can read memory of peers, and lend its own.
    pub fn can_read(&self) -> bool {
        // SAFETY: the info and the endpoint live as long as `self`.
        unsafe { (*self.chosen).caps & RMA != 0 && !(*self.ep).rma.is_null() }
    }

    /// Whether the provider makes this demand on memory.
    pub(crate) fn has_mode(&self, mode: c_int) -> bool {
        // SAFETY: the info lives as long as `self`.
        unsafe { (*(*self.chosen).domain_attr).mr_mode & mode != 0 }
    }

    pub(crate) fn register(&mut self, memory: *const c_void, bytes: usize, access: u64) -> Result<Region, String> {
        let mut region = null_mut();
        // Where the provider does not choose keys, each region has another one, of as many bytes as keys may have.
        self.next_key += 1;
        // SAFETY: the info is that of the endpoint.
        let size = unsafe { (*(*self.chosen).domain_attr).mr_key_size };
        let most = if size >= 8 { u64::MAX } else { (1 << (8 * size.max(1))) - 1 };
        let key = self.next_key % most;
        // SAFETY: the domain has the table of its kind; what the memory is, is the caller's concern, and the provider
        // checks it.
        unsafe {
            let reg = (*(*self.domain).mr).reg;
            let rc = reg(self.domain.cast(), memory, bytes, access, 0, key, 0, &raw mut region, null_mut());
            self.check("fi_mr_reg", rc)?;
            if self.has_mode(MR_ENDPOINT) {
                let ops = (*region).fid.ops;
                self.check("fi_mr_bind", ((*ops).bind)(region.cast(), self.ep.cast(), 0))?;
                self.check("fi_mr_enable", ((*ops).control)(region.cast(), ENABLE, null_mut()))?;
            }
        }
        Ok(Region(region))
    }

    /// Lets peers that know the key read memory.
    ///
    /// # Safety
    /// The memory may be read until it is taken back, or until reading fails.
    pub unsafe fn lend(&mut self, memory: *const u8, bytes: usize) -> Result<Lent, String> {
        if self.has_mode(MR_ALLOCATED) {
            for at in (0..bytes).step_by(PAGE) {
                // SAFETY: the memory may be read, by the contract of this function.
                unsafe { memory.add(at).read_volatile() };
            }
        }
        let region = self.register(memory.cast(), bytes, REMOTE_READ)?;
        // SAFETY: the region was just made.
        let key = unsafe { (*region.0).key };
        let address = if self.has_mode(MR_VIRT_ADDR) { memory.expose_provenance() as u64 } else { 0 };
        Ok(Lent { region, remote: Remote { address, key } })
    }

    pub fn take_back(&mut self, lent: Lent) {
        lent.region.close();
    }

    /// Begins to read memory of a peer to the beginning of a buffer; `false`, and the buffer is free again, if the provider
    /// cannot do it now.
    pub fn read(&mut self, slot: SlotId, bytes: usize, from: Address, remote: Remote) -> Result<bool, String> {
        assert!(bytes <= crate::PACKET);
        let slab = &self.sending[slot.0 / BUFFERS];
        let (to, descriptor) = (slab.buffer(slot.0 % BUFFERS), slab.descriptor());
        // SAFETY: nobody uses the buffer until it was read to: the slot is not free.
        unsafe { self.begin_read(slot, to.as_ptr(), bytes, descriptor, from, remote) }
    }

    /// The same to any memory, for which the provider may want a region. The slot only names the operation.
    ///
    /// # Safety
    /// The memory may be written, and nobody uses it until the operation has ended.
    pub unsafe fn read_to(
        &mut self,
        slot: SlotId,
        to: *mut u8,
        bytes: usize,
        from: Address,
        remote: Remote,
    ) -> Result<Option<Option<Region>>, String> {
        let mut region = None;
        if self.has_mode(MR_LOCAL) {
            if self.has_mode(MR_ALLOCATED) {
                for at in (0..bytes).step_by(PAGE) {
                    // SAFETY: the memory may be written, by the contract of this function.
                    unsafe { to.add(at).write_volatile(to.add(at).read_volatile()) };
                }
            }
            region = Some(self.register(to.cast_const().cast(), bytes, READ).inspect_err(|_| self.free.push(slot.0))?);
        }
        let descriptor = region.as_ref().map_or(null_mut(), Region::descriptor);
        // SAFETY: the memory may be written until the read is done: this function's own condition.
        let begun = unsafe { self.begin_read(slot, to, bytes, descriptor, from, remote) };
        match begun {
            Ok(true) => Ok(Some(region)),
            Ok(false) => {
                region.into_iter().for_each(Region::close);
                Ok(None)
            }
            Err(error) => {
                region.into_iter().for_each(Region::close);
                Err(error)
            }
        }
    }

    /// # Safety
    /// The memory may be written, and nobody uses it until the operation has ended.
    unsafe fn begin_read(
        &mut self,
        slot: SlotId,
        to: *mut u8,
        bytes: usize,
        descriptor: *mut c_void,
        from: Address,
        remote: Remote,
    ) -> Result<bool, String> {
        let slab = &self.sending[slot.0 / BUFFERS];
        let context = slab.context(slot.0 % BUFFERS);
        // SAFETY: the endpoint has operations on remote memory, since peers lend to those only; the memory and the context
        // are left alone until the operation ends.
        let rc = unsafe {
            let read = (*(*self.ep).rma).read;
            read(self.ep, to.cast(), bytes, descriptor, from.0, remote.address, remote.key, context)
        };
        match rc {
            0 => {
                self.reading.push(slot.0);
                Ok(true)
            }
            rc => {
                self.free.push(slot.0);
                let failed = || format!("provider {}: {}", self.provider, self.functions.error("fi_read", rc));
                if rc == crate::abi::EAGAIN { Ok(false) } else { Err(failed()) }
            }
        }
    }

    /// Whether a buffer was used for reading, which has ended.
    pub(crate) fn end_reading(&mut self, slot: usize) -> bool {
        let found = self.reading.iter().position(|&reading| reading == slot);
        found.map(|index| self.reading.swap_remove(index)).is_some()
    }

    /// The operation for which a region was made has ended.
    pub fn end_region(&mut self, region: Option<Region>) {
        region.into_iter().for_each(Region::close);
    }

    /// The longest that can be read at once.
    pub fn most_read(&self) -> usize {
        // SAFETY: the info lives as long as `self`.
        unsafe { (*(*self.chosen).ep_attr).max_msg_size }
    }
}

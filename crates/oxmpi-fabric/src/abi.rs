//! Layouts and numbers of libfabric, as `fi_getinfo` of the symbol version FABRIC_1.3 has them: the same from 1.9 to 2.5.
//! Only the functions that are called have a type; the others are words.

use std::ffi::{c_char, c_int, c_void};

pub const API: u32 = 1 << 16 | 9;
pub const MSG: u64 = 1 << 1;
pub const RMA: u64 = 1 << 2;
pub const READ: u64 = 1 << 8;
pub const RECV: u64 = 1 << 10;
pub const SEND: u64 = 1 << 11;
pub const REMOTE_READ: u64 = 1 << 12;
pub const EP_RDM: c_int = 3;
pub const ORDER_SAS: u64 = 1 << 8;
pub const MODE_CONTEXT: u64 = 1 << 59;
pub const MODE_CONTEXT2: u64 = 1 << 52;
pub const MR_LOCAL: c_int = 1 << 2;
pub const MR_VIRT_ADDR: c_int = 1 << 4;
pub const MR_ALLOCATED: c_int = 1 << 5;
pub const MR_PROV_KEY: c_int = 1 << 6;
pub const MR_ENDPOINT: c_int = 1 << 9;
pub const THREAD_DOMAIN: c_int = 3;
pub const RM_ENABLED: c_int = 2;
pub const AV_TABLE: c_int = 2;
pub const CQ_FORMAT_MSG: c_int = 2;
pub const WAIT_NONE: c_int = 0;
pub const WAIT_FD: c_int = 3;
pub const GET_WAIT: c_int = 5;
pub const ENABLE: c_int = 6;
pub const ADDR_UNSPEC: u64 = u64::MAX;
pub const EAGAIN: isize = -11;
pub const EAVAIL: isize = -259;

#[repr(C)]
pub struct TxAttr {
    pub caps: u64,
    pub mode: u64,
    pub op_flags: u64,
    pub msg_order: u64,
    pub comp_order: u64,
    pub inject_size: usize,
    pub size: usize,
    pub iov_limit: usize,
    pub rma_iov_limit: usize,
    pub tclass: u32,
}

#[repr(C)]
pub struct RxAttr {
    pub caps: u64,
    pub mode: u64,
    pub op_flags: u64,
    pub msg_order: u64,
    pub comp_order: u64,
    pub total_buffered_recv: usize,
    pub size: usize,
    pub iov_limit: usize,
}

#[repr(C)]
pub struct EpAttr {
    pub kind: c_int,
    pub protocol: u32,
    pub protocol_version: u32,
    pub max_msg_size: usize,
    pub msg_prefix_size: usize,
    rest: [usize; 8],
}

#[repr(C)]
pub struct DomainAttr {
    pub domain: *mut c_void,
    pub name: *mut c_char,
    pub threading: c_int,
    pub control_progress: c_int,
    pub data_progress: c_int,
    pub resource_mgmt: c_int,
    pub av_type: c_int,
    pub mr_mode: c_int,
    pub mr_key_size: usize,
    rest: [usize; 18],
}

#[repr(C)]
pub struct FabricAttr {
    pub fabric: *mut c_void,
    pub name: *mut c_char,
    pub prov_name: *mut c_char,
    pub prov_version: u32,
    pub api_version: u32,
}

#[repr(C)]
pub struct Info {
    pub next: *mut Info,
    pub caps: u64,
    pub mode: u64,
    pub addr_format: u32,
    pub src_addrlen: usize,
    pub dest_addrlen: usize,
    pub src_addr: *mut c_void,
    pub dest_addr: *mut c_void,
    pub handle: *mut c_void,
    pub tx_attr: *mut TxAttr,
    pub rx_attr: *mut RxAttr,
    pub ep_attr: *mut EpAttr,
    pub domain_attr: *mut DomainAttr,
    pub fabric_attr: *mut FabricAttr,
    pub nic: *mut Nic,
}

const _: () = assert!(size_of::<Info>() == 120 && size_of::<TxAttr>() == 80 && size_of::<RxAttr>() == 64);
const _: () = assert!(size_of::<EpAttr>() == 96 && size_of::<DomainAttr>() == 192 && size_of::<FabricAttr>() == 32);

/// What libfabric knows of a card.
#[repr(C)]
pub struct Nic {
    fid: Fid,
    pub device: *mut DeviceAttr,
    pub bus: *mut BusAttr,
    pub link: *mut LinkAttr,
}

#[repr(C)]
pub struct DeviceAttr {
    pub name: *mut c_char,
}

pub const BUS_PCI: c_int = 1;

#[repr(C)]
pub struct BusAttr {
    pub kind: c_int,
    pub domain: u16,
    pub bus: u8,
    pub device: u8,
    pub function: u8,
}

pub const LINK_DOWN: c_int = 1;

#[repr(C)]
pub struct LinkAttr {
    address: *mut c_char,
    mtu: usize,
    speed: usize,
    pub state: c_int,
}

/// What every object begins with.
#[repr(C)]
pub struct Fid {
    pub class: usize,
    pub context: *mut c_void,
    pub ops: *const Ops,
}

#[repr(C)]
pub struct Ops {
    size: usize,
    pub close: unsafe extern "C" fn(*mut Fid) -> c_int,
    pub bind: unsafe extern "C" fn(*mut Fid, *mut Fid, u64) -> c_int,
    pub control: unsafe extern "C" fn(*mut Fid, c_int, *mut c_void) -> c_int,
}

#[repr(C)]
pub struct Fabric {
    pub fid: Fid,
    pub ops: *const FabricOps,
}

#[repr(C)]
pub struct FabricOps {
    size: usize,
    pub domain: unsafe extern "C" fn(*mut Fabric, *mut Info, *mut *mut Domain, *mut c_void) -> c_int,
    others: [usize; 3],
    pub trywait: unsafe extern "C" fn(*mut Fabric, *mut *mut Fid, c_int) -> c_int,
}

#[repr(C)]
pub struct Domain {
    pub fid: Fid,
    pub ops: *const DomainOps,
    pub mr: *const MrOps,
}

#[repr(C)]
pub struct DomainOps {
    size: usize,
    pub av_open: unsafe extern "C" fn(*mut Domain, *mut AvAttr, *mut *mut Av, *mut c_void) -> c_int,
    pub cq_open: unsafe extern "C" fn(*mut Domain, *mut CqAttr, *mut *mut Cq, *mut c_void) -> c_int,
    pub endpoint: unsafe extern "C" fn(*mut Domain, *mut Info, *mut *mut Ep, *mut c_void) -> c_int,
}

#[repr(C)]
pub struct MrOps {
    size: usize,
    pub reg:
        unsafe extern "C" fn(*mut Fid, *const c_void, usize, u64, u64, u64, u64, *mut *mut Mr, *mut c_void) -> c_int,
}

#[repr(C)]
pub struct Mr {
    pub fid: Fid,
    pub descriptor: *mut c_void,
    pub key: u64,
}

#[repr(C)]
#[derive(Default)]
pub struct AvAttr {
    pub kind: c_int,
    pub rx_ctx_bits: c_int,
    pub count: usize,
    pub rest: [usize; 4],
}

#[repr(C)]
pub struct Av {
    pub fid: Fid,
    pub ops: *const AvOps,
}

#[repr(C)]
pub struct AvOps {
    size: usize,
    pub insert: unsafe extern "C" fn(*mut Av, *const c_void, usize, *mut u64, u64, *mut c_void) -> c_int,
}

#[repr(C)]
pub struct CqAttr {
    pub size: usize,
    pub flags: u64,
    pub format: c_int,
    pub wait_obj: c_int,
    pub signaling_vector: c_int,
    pub wait_cond: c_int,
    pub wait_set: *mut c_void,
}

const _: () = assert!(size_of::<AvAttr>() == 48 && size_of::<CqAttr>() == 40 && size_of::<CqError>() == 80);

#[repr(C)]
pub struct Cq {
    pub fid: Fid,
    pub ops: *const CqOps,
}

#[repr(C)]
pub struct CqOps {
    size: usize,
    pub read: unsafe extern "C" fn(*mut Cq, *mut c_void, usize) -> isize,
    readfrom: usize,
    pub readerr: unsafe extern "C" fn(*mut Cq, *mut CqError, u64) -> isize,
}

/// A completion.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CqEntry {
    pub context: *mut c_void,
    pub flags: u64,
    pub len: usize,
}

#[repr(C)]
pub struct CqError {
    pub context: *mut c_void,
    pub flags: u64,
    pub len: usize,
    pub buf: *mut c_void,
    pub data: u64,
    pub tag: u64,
    pub olen: usize,
    pub err: c_int,
    pub prov_errno: c_int,
    pub err_data: *mut c_void,
    pub err_data_size: usize,
}

#[repr(C)]
pub struct Ep {
    pub fid: Fid,
    ops: *const c_void,
    pub cm: *const CmOps,
    pub msg: *const MsgOps,
    pub rma: *const RmaOps,
}

#[repr(C)]
pub struct CmOps {
    size: usize,
    setname: usize,
    pub getname: unsafe extern "C" fn(*mut Fid, *mut c_void, *mut usize) -> c_int,
}

#[repr(C)]
pub struct RmaOps {
    size: usize,
    pub read: unsafe extern "C" fn(*mut Ep, *mut c_void, usize, *mut c_void, u64, u64, u64, *mut c_void) -> isize,
}

#[repr(C)]
pub struct MsgOps {
    size: usize,
    pub recv: unsafe extern "C" fn(*mut Ep, *mut c_void, usize, *mut c_void, u64, *mut c_void) -> isize,
    recvv: usize,
    recvmsg: usize,
    pub send: unsafe extern "C" fn(*mut Ep, *const c_void, usize, *mut c_void, u64, *mut c_void) -> isize,
}

//! How a function of a C++ class calls one of C. The functions of the classes differ in little: where the handle of the object goes,
//! which arguments are objects, and what is returned. So each is a line of `tables.rs`: the function of C and a text with a
//! letter for each of its arguments.
//!
//! | letter | argument of the C function |
//! |---|---|
//! | `t`, `T` | the handle of the object, its address (of a status: the status) |
//! | `a` | the next argument as it is: a number or an address |
//! | `1` to `9` | that argument, from which the next ones follow; `!` leaves one out |
//! | `h`, `p` | the handle in the next argument, an object; its address |
//! | `b` | the next argument, a bool |
//! | `n`, `z`, `k` | `MPI_STATUS_IGNORE`, a null pointer, the constant of the line |
//! | `v`, `V`, `y` | an array of bools: so many as the second argument says, as the topology has dimensions; one for results |
//! | `w`, `W` | an array of datatypes: one for each process of the communicator; so many as the fourth argument says, for results |
//! | `i`, `B`, `l` | the place of the result: an int, a bool, a long |
//! | `O` with another letter | the place of a handle; the result is an object of that class |
//!
//! A text that begins with `s` belongs to a function without an object.

pub use super::exceptions::{call_comm, call_file, call_win, call_world};
use super::exceptions::{is_to_be_thrown, take};
pub use super::functions::*;
pub use super::objects::Object;
use super::objects::empty;
use super::tables::THROWN;
use crate::entry::*;
use crate::generated::tables::theirs;
use std::ffi::CStr;
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A pointer to code, or null.
#[repr(transparent)]
pub struct Code(pub *const ());

// SAFETY: it is the address of code.
unsafe impl Sync for Code {}

/// A line of the table.
pub struct Method {
    pub function: Code,
    pub how: &'static [u8],
    pub constant: Code,
}

/// A virtual table: the distance to the whole object, the type information, and the functions. A program may have a copy.
#[repr(C)]
pub struct Table<const N: usize> {
    distance: usize,
    information: Code,
    functions: [Code; N],
}

impl<const N: usize> Table<N> {
    pub const fn new(information: Code, functions: [Code; N]) -> Table<N> {
        Table { distance: 0, information, functions }
    }

    /// What an object of the class begins with.
    pub fn address(&'static self) -> usize {
        (&raw const self.functions) as usize
    }
}

/// The type information of a class without a base, and with `N` = 1 of one with a base.
#[repr(C)]
pub struct Information<const N: usize> {
    /// Which of them it is: a virtual table in the library of C++, which a program of C has not. References to it are weak.
    pub kind: Code,
    pub name: Code,
    pub base: [Code; N],
}

/// A function of C++, which says which line it is. The module is there for names that several lines have.
macro_rules! method {
    ($name:ident { $($items:tt)* } $function:ident $how:literal $constant:expr; $($attribute:tt)*) => {
        mod $name {
            use super::*;

            $($items)*

            static METHOD: Method =
                Method { function: Code($function as *const ()), how: $how, constant: Code($constant) };

            #[unsafe(naked)]
            $($attribute)*
            pub unsafe extern "C" fn start() {
                std::arch::naked_asm!(
                    "lea rax, [rip + {method}]",
                    "jmp {enter}",
                    method = sym METHOD,
                    enter = sym $crate::abi::cxx::call::enter,
                );
            }
        }
        #[allow(unused_imports, reason = "not all of them are virtual")]
        use $name::start as $name;
    };
}

/// Functions of C++ over functions of C.
macro_rules! methods {
    ($($name:ident $function:ident $how:literal)*) => {$(
        method! { $name { unsafe extern "C" { fn $function(); } } $function $how std::ptr::null(); }
    )*};
}

/// Those that a program imports, some with a constant, a function of this library.
macro_rules! exported {
    ($($name:ident $symbol:literal $function:ident $how:literal $($constant:ident)?;)*) => {$(
        method! {
            $name { unsafe extern "C" { fn $function(); } } $function $how exported!(@ $($constant)?);
            #[unsafe(export_name = $symbol)]
        }
    )*};
    (@) => { std::ptr::null() };
    (@ $constant:ident) => { $constant as *const () };
}

/// Those over functions of this library.
macro_rules! special {
    ($($name:ident $symbol:literal $function:ident $how:literal)*) => {
        $(method! { $name {} $function $how std::ptr::null(); #[unsafe(export_name = $symbol)] })*
    };
}

macro_rules! table {
    ($symbol:literal $class:ident $information:ident: $($name:ident)*) => {
        #[unsafe(export_name = $symbol)]
        pub static $class: Table<{ [$(stringify!($name)),*].len() }> =
            Table::new(Code((&raw const $information).cast()), [$(Code($name as *const ())),*]);
    };
}

macro_rules! informations {
    ($($(#[$attribute:meta])? $class:ident $name:literal $($base:ident)?;)*) => {$(
        $(#[$attribute])?
        pub static $class: Information<{ informations!(@count $($base)?) }> = Information {
            kind: Code(informations!(@kind $($base)?).wrapping_add(2).cast()),
            name: Code($name.as_ptr().cast()),
            base: informations!(@list $($base)?),
        };
    )*};
    (@count) => { 0 };
    (@count $base:ident) => { 1 };
    (@kind) => { (&raw const WITHOUT_BASE).cast::<usize>() };
    (@kind $base:ident) => { (&raw const WITH_BASE).cast::<usize>() };
    (@list) => { [] };
    (@list $base:ident) => { [Code((&raw const $base).cast())] };
}

pub(super) use {exported, informations, method, methods, special, table};

type Function =
    unsafe extern "C" fn(usize, usize, usize, usize, usize, usize, usize, usize, usize, usize, usize, usize) -> c_int;

/// What a method returns.
#[derive(Clone, Copy)]
enum Returned {
    Nothing,
    Int,
    Bool,
    Long,
    Object(u8),
}

/// The arguments of the C++ function. The object is number 0; where there is none, the first argument.
struct Arguments {
    registers: *const usize,
    stack: *const usize,
    /// Those in front of the object: the place for a result, if that is an object.
    before: usize,
    next: usize,
}

impl Arguments {
    /// # Safety
    /// The function has so many arguments.
    unsafe fn at(&self, n: usize) -> usize {
        let n = n + self.before;
        // SAFETY: the caller knows that there is such an argument; the first six are in registers.
        unsafe { if n < 6 { *self.registers.add(n) } else { *self.stack.add(n - 6) } }
    }

    /// # Safety
    /// There is another argument.
    unsafe fn take(&mut self) -> usize {
        self.next += 1;
        // SAFETY: the caller knows that there is such an argument.
        unsafe { self.at(self.next - 1) }
    }

    /// # Safety
    /// There is another argument, an object.
    unsafe fn take_object(&mut self) -> *mut Object {
        // SAFETY: the caller knows that there is such an argument.
        unsafe { self.take() as *mut Object }
    }
}

/// Calls the C function of a line with the arguments of the C++ one, which are in the registers and on the stack.
///
/// # Safety
/// The program calls the C++ function of this line: so many registers and words of the stack are its arguments.
pub unsafe extern "C" fn call(method: &Method, registers: *const usize, stack: *const usize) -> usize {
    let is_static = method.how.first() == Some(&b's');
    let before = usize::from(method.how.contains(&b'O'));
    let mut arguments = Arguments { registers, stack, before, next: usize::from(!is_static) };
    let mut values = [0; 12];
    let mut used = 0;
    let (mut result, mut returned) = (0usize, Returned::Nothing);
    let place = (&raw mut result) as usize;
    // Arrays that C has in another form; what the call writes to one of them goes to the last address.
    let mut arrays: Vec<Vec<c_int>> = Vec::new();
    let mut to_write = 0;
    let mut how = method.how.iter().copied();
    // SAFETY: the program passes what the C++ function takes, which the letters tell: objects of MPI's classes, arrays of
    // the lengths that the standard says, and what the C function takes.
    unsafe {
        let object = arguments.at(0) as *mut Object;
        while let Some(letter) = how.next() {
            let array = match letter {
                b'v' => Some(flags(arguments.at(1) as c_int, arguments.take())),
                b'V' => Some(flags(dimensions((*object).handle as c_int), arguments.take())),
                b'w' => Some(handles(members((*object).handle as c_int), arguments.take_object())),
                b'y' => {
                    to_write = arguments.take();
                    Some(vec![0; length(arguments.at(1) as c_int)])
                }
                b'W' => {
                    to_write = arguments.take();
                    Some(handles(arguments.at(3) as c_int, to_write as *mut Object))
                }
                _ => None,
            };
            let value = match letter {
                b's' => continue,
                b'!' => {
                    arguments.next += 1;
                    continue;
                }
                b'1'..=b'9' => {
                    arguments.next = usize::from(letter - b'0');
                    arguments.take()
                }
                b't' => (*object).handle,
                b'T' => (&raw mut (*object).handle) as usize,
                b'a' => arguments.take(),
                b'h' => (*arguments.take_object()).handle,
                b'p' => (&raw mut (*arguments.take_object()).handle) as usize,
                b'b' => arguments.take() & 1,
                b'n' => theirs::MPI_STATUS_IGNORE as usize,
                b'z' => 0,
                b'k' => method.constant.0 as usize,
                b'O' => {
                    let class = how.next().unwrap_or(0);
                    (result, returned) = (empty(class), Returned::Object(class));
                    place
                }
                b'i' => {
                    returned = Returned::Int;
                    place
                }
                b'B' => {
                    returned = Returned::Bool;
                    place
                }
                b'l' => {
                    returned = Returned::Long;
                    place
                }
                _ => {
                    let mut array = array.unwrap_or_default();
                    let at = array.as_mut_ptr() as usize;
                    arrays.push(array);
                    at
                }
            };
            values[used] = value;
            used += 1;
        }
        let [a, b, c, d, e, f, g, h, i, j, k, l] = values;
        let code = transmute::<*const (), Function>(method.function.0)(a, b, c, d, e, f, g, h, i, j, k, l);
        is_to_be_thrown(code);
        let written = arrays.last().filter(|_| code == MPI_SUCCESS && to_write != 0);
        for (n, value) in written.into_iter().flatten().enumerate() {
            match method.how.contains(&b'y') {
                true => *(to_write as *mut u8).add(n) = u8::from(*value != 0),
                false => (*(to_write as *mut Object).add(n)).handle = *value as u32 as usize,
            }
        }
        match returned {
            Returned::Nothing => 0,
            Returned::Int => result as u32 as usize,
            Returned::Bool => usize::from(result as c_int != 0),
            Returned::Long => result,
            Returned::Object(class) => {
                let to = *registers as *mut Object;
                to.write(Object::new(class, result));
                to as usize
            }
        }
    }
}

fn length(count: c_int) -> usize {
    usize::try_from(count).unwrap_or(0)
}

/// # Safety
/// There are so many bools at the address.
unsafe fn flags(count: c_int, address: usize) -> Vec<c_int> {
    // SAFETY: the caller promises so many; a bool is a byte.
    (0..length(count)).map(|n| c_int::from(unsafe { *(address as *const u8).add(n) } & 1)).collect()
}

/// # Safety
/// There are so many objects.
unsafe fn handles(count: c_int, objects: *mut Object) -> Vec<c_int> {
    // SAFETY: the caller promises so many.
    (0..length(count)).map(|n| unsafe { (*objects.add(n)).handle } as c_int).collect()
}

// ---- throwing ----

/// What all functions of C++ do: [`call`], with the arguments on the stack, and then they throw, or return what `call` has returned.
/// Nothing of the library is on the stack when they throw.
#[unsafe(naked)]
pub unsafe extern "C" fn enter() {
    std::arch::naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "sub rsp, 64",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "mov [rsp + 16], rdx",
        "mov [rsp + 24], rcx",
        "mov [rsp + 32], r8",
        "mov [rsp + 40], r9",
        "mov rdi, rax",
        "mov rsi, rsp",
        "lea rdx, [rbp + 16]",
        "call {call}",
        "mov [rsp + 48], rax",
        "call {exception}",
        "mov rdi, rax",
        "mov rax, [rsp + 48]",
        "leave",
        "test rdi, rdi",
        "jne 2f",
        "ret",
        "2:",
        "lea rsi, [rip + {information}]",
        "xor edx, edx",
        "jmp qword ptr [rip + {throw}]",
        call = sym call,
        exception = sym exception,
        information = sym THROWN,
        throw = sym THROW,
    )
}

static THROW: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// The exception to be thrown, or null.
unsafe extern "C" fn exception() -> *mut Object {
    let Some(code) = take() else { return null_mut() };
    // SAFETY: the name ends with a zero; a null handle stands for all libraries and the program.
    let of_cxx = |name: &CStr| match unsafe { dlsym(null_mut(), name.as_ptr()) } as usize {
        0 => None,
        found => Some(found),
    };
    let functions = of_cxx(c"__cxa_allocate_exception").zip(of_cxx(c"__cxa_throw"));
    let Some((allocate, throw)) = functions else {
        eprintln!("OxMPI: MPI::ERRORS_THROW_EXCEPTIONS in a program without the library of C++; the error is {code}");
        std::process::abort();
    };
    THROW.store(throw, Relaxed);
    // SAFETY: the first function is one of the C++ ABI, and allocates so many bytes.
    unsafe {
        let allocate = transmute::<usize, unsafe extern "C" fn(usize) -> *mut Object>(allocate);
        let exception = allocate(size_of::<Object>());
        exception.write(Object::new(b'X', code as u32 as usize));
        exception
    }
}

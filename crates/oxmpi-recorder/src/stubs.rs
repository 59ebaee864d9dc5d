//! The functions of MPI. A stub loads its number and jumps to one of three bodies, which differ in how many words of
//! arguments they take over from the caller's stack. The body asks `enter` for the real function. If the call is recorded,
//! the body calls it and tells `leave`; if not, it jumps there, as if it had never been.

use crate::calls::{enter, leave};
use std::arch::naked_asm;
use std::ffi::CStr;

macro_rules! body {
    ($name:ident $words:literal) => {
        /// # Safety
        /// The caller has called a function of MPI, whose number is in a register.
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "push rbp",
                ".cfi_def_cfa_offset 16",
                ".cfi_offset rbp, -16",
                "mov rbp, rsp",
                ".cfi_def_cfa_register rbp",
                "sub rsp, 64",
                "mov [rbp - 8], rdi",
                "mov [rbp - 16], rsi",
                "mov [rbp - 24], rdx",
                "mov [rbp - 32], rcx",
                "mov [rbp - 40], r8",
                "mov [rbp - 48], r9",
                "mov edi, r11d",
                "mov rsi, [rbp + 8]",
                "mov rdx, rbp",
                "call {enter}",
                "mov r11, rax",
                "mov r10, rdx",
                "mov rdi, [rbp - 8]",
                "mov rsi, [rbp - 16]",
                "mov rdx, [rbp - 24]",
                "mov rcx, [rbp - 32]",
                "mov r8, [rbp - 40]",
                "mov r9, [rbp - 48]",
                "test r10, r10",
                "jz 3f",
                "mov [rbp - 56], r10",
                ".set .Lword, {words}",
                ".rept {words}",
                "push qword ptr [rbp + 8 + 8 * .Lword]",
                ".set .Lword, .Lword - 1",
                ".endr",
                "call r11",
                "mov [rbp - 8], rax",
                "lea rsp, [rbp - 64]",
                "mov rdi, [rbp - 56]",
                "call {leave}",
                "mov rax, [rbp - 8]",
                "leave",
                ".cfi_def_cfa rsp, 8",
                "ret",
                "3:",
                ".cfi_def_cfa rbp, 16",
                "leave",
                ".cfi_def_cfa rsp, 8",
                "jmp r11",
                ".cfi_endproc",
                enter = sym enter,
                leave = sym leave,
                words = const $words,
            )
        }
    };
}

body! { call_0 0 }
body! { call_4 4 }
body! { call_12 12 }

macro_rules! stub {
    ($name:ident $number:literal $body:ident) => {
        /// # Safety
        /// As for the function of MPI.
        #[allow(non_snake_case, reason = "the names of MPI")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            naked_asm!("mov r11d, {number}", "jmp {body}", number = const $number, body = sym $body)
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/stubs.rs"));

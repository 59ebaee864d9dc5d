//! Control variables: the settings of the library. Settings with an environment variable have its
//! name.

use super::answer::{Answer, Code, INVALID, INVALID_HANDLE, Value};
use super::category::Category;
use super::enums::Enumeration;
use super::state::{Object, State, Subject};
use crate::comm::hints::memory_kinds;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Datatype, TCvarHandle};
use oxmpi_base::trust;
use oxmpi_boot::others::{Identity, identify};
use oxmpi_core::engine::STORE_LIMIT;
use oxmpi_core::explain;
use oxmpi_core::library::Library;
use oxmpi_core::settings::{ASYNC_PROGRESS, HUGE_PAGES, SINGLE_COPY, Switch};
use std::sync::LazyLock;

pub struct Cvar {
    pub name: &'static str,
    pub description: &'static str,
    pub verbosity: i32,
    pub category: Category,
    pub scope: i32,
    setting: Setting,
}

/// The source of the value; it implies the type, and when the value can be changed.
enum Setting {
    /// Can be set until this process joins the job, which happens once.
    Switch(&'static Switch),
    Explain,
    Errhandler,
    Text(fn() -> &'static str),
    Size(fn(&Library) -> u64),
}

pub static CVARS: [Cvar; 9] = [
    Cvar {
        name: "OXMPI_SINGLE_COPY",
        description: "Whether bytes may be copied between the memories of two processes by the kernel. Can be set until MPI \
                      or a session is first initialized, to the same value in all processes; oxmpi_single_copy says whether \
                      it is done.",
        verbosity: MPI_T_VERBOSITY_TUNER_BASIC,
        category: Category::Messages,
        scope: MPI_T_SCOPE_ALL_EQ,
        setting: Setting::Switch(&SINGLE_COPY),
    },
    Cvar {
        name: "OXMPI_HUGE_PAGES",
        description: "Whether memory that is communicated repeatedly may be moved to huge pages. Can be set until MPI or a \
                      session is first initialized, in any process.",
        verbosity: MPI_T_VERBOSITY_TUNER_BASIC,
        category: Category::Memory,
        scope: MPI_T_SCOPE_LOCAL,
        setting: Setting::Switch(&HUGE_PAGES),
    },
    Cvar {
        name: "OXMPI_ASYNC_PROGRESS",
        description: "Whether a thread of the library brings long messages and nonblocking operations forward while the program \
                      computes. Can be set until MPI or a session is first initialized, in any process.",
        verbosity: MPI_T_VERBOSITY_USER_BASIC,
        category: Category::Messages,
        scope: MPI_T_SCOPE_LOCAL,
        setting: Setting::Switch(&ASYNC_PROGRESS),
    },
    Cvar {
        name: "oxmpi_eager_limit",
        description: "The longest message, in bytes, that is sent without asking its receiver; 0 until MPI or a session is \
                      first initialized",
        verbosity: MPI_T_VERBOSITY_TUNER_BASIC,
        category: Category::Messages,
        scope: MPI_T_SCOPE_READONLY,
        setting: Setting::Size(|library| library.enter_late().map_or(0, |process| process.engine.eager_limit() as u64)),
    },
    Cvar {
        name: "oxmpi_store_limit",
        description: "Bytes of stored messages from one process beyond which it is asked to keep its messages until they are \
                      received",
        verbosity: MPI_T_VERBOSITY_TUNER_DETAIL,
        category: Category::Messages,
        scope: MPI_T_SCOPE_CONSTANT,
        setting: Setting::Size(|_| STORE_LIMIT as u64),
    },
    Cvar {
        name: "OXMPI_EXPLAIN",
        description: "Whether to say on stderr what is decided and why: the algorithms of collective operations, how messages \
                      go. Can be set at any time, in any process; the first rank of a communicator says it.",
        verbosity: MPI_T_VERBOSITY_USER_BASIC,
        category: Category::Collectives,
        scope: MPI_T_SCOPE_LOCAL,
        setting: Setting::Explain,
    },
    Cvar {
        name: "OXMPI_MEMORY_ALLOC_KINDS",
        description: "The kinds of memory that buffers may be of: what mpirun was asked for, as far as it is known, and what is \
                      always there",
        verbosity: MPI_T_VERBOSITY_USER_DETAIL,
        category: Category::Memory,
        scope: MPI_T_SCOPE_CONSTANT,
        setting: Setting::Text(|| {
            static KINDS: LazyLock<String> = LazyLock::new(|| memory_kinds(None));
            &KINDS
        }),
    },
    Cvar {
        name: "oxmpi_launcher",
        description: "The launcher that has started this process, as the environment shows it: \"none\", \"unknown\", or its \
                      name",
        verbosity: MPI_T_VERBOSITY_USER_BASIC,
        category: Category::Network,
        scope: MPI_T_SCOPE_CONSTANT,
        // The length of a text must not change once a tool knows it, so it does not wait for the manager's word.
        setting: Setting::Text(|| {
            static NAME: LazyLock<&str> = LazyLock::new(|| match identify(&trust::text) {
                Identity::None => "none",
                Identity::Own => oxmpi_boot::OWN_LAUNCHER,
                Identity::Manager(name) => name,
                Identity::Unknown(_) => "unknown",
            });
            &NAME
        }),
    },
    Cvar {
        name: "OXMPI_INITIAL_ERRHANDLER",
        description: "The initial error handler of the predefined communicators, as given to mpirun",
        verbosity: MPI_T_VERBOSITY_USER_DETAIL,
        category: Category::Errors,
        scope: MPI_T_SCOPE_CONSTANT,
        setting: Setting::Errhandler,
    },
];

impl Cvar {
    pub fn datatype(&self) -> Datatype {
        match self.setting {
            Setting::Switch(_) | Setting::Explain | Setting::Errhandler => MPI_INT,
            Setting::Text(_) => MPI_CHAR,
            Setting::Size(_) => MPI_UNSIGNED_LONG_LONG,
        }
    }

    pub fn enumeration(&self) -> Option<Enumeration> {
        match self.setting {
            Setting::Switch(_) | Setting::Explain => Some(Enumeration::Switch),
            Setting::Errhandler => Some(Enumeration::Errhandler),
            _ => None,
        }
    }

    /// The number of elements of the value.
    pub fn count(&self) -> i32 {
        match self.setting {
            Setting::Text(text) => text().len() as i32 + 1,
            _ => 1,
        }
    }

    pub fn read(&self, subject: &Subject) -> Value {
        match self.setting {
            Setting::Explain => Value::Int(explain::is_on().into()),
            Setting::Switch(switch) => Value::Int(switch.is_on().into()),
            Setting::Errhandler => Value::Int(subject.library.initial_errhandler().0 as i32),
            Setting::Size(size) => Value::Number(size(subject.library)),
            Setting::Text(text) => Value::Text(text()),
        }
    }

    /// Sets a switch: all variables that can be set have type int.
    pub fn write(&self, subject: &Subject, given: impl FnOnce() -> Answer<i32>) -> Answer {
        let set: fn(&Cvar, bool) = match self.setting {
            Setting::Explain => |_, on| explain::set(on),
            Setting::Switch(_) if !subject.library.has_started() => |cvar, on| {
                if let Setting::Switch(switch) = cvar.setting {
                    switch.set(on);
                }
            },
            _ => return Err(Code(MPI_T_ERR_CVAR_SET_NEVER)),
        };
        match given()? {
            0 => set(self, false),
            1 => set(self, true),
            _ => return Err(INVALID),
        }
        Ok(())
    }
}

impl State {
    pub fn add_cvar(&mut self, cvar: &'static Cvar) -> Answer<TCvarHandle> {
        self.add(Object::Cvar(cvar), MPI_T_ERR_OUT_OF_HANDLES).map(TCvarHandle)
    }

    pub fn cvar(&self, handle: TCvarHandle) -> Answer<&'static Cvar> {
        match self.objects.get(handle.0) {
            Some(Object::Cvar(cvar)) => Ok(cvar),
            _ => Err(INVALID_HANDLE),
        }
    }

    pub fn free_cvar(&mut self, handle: TCvarHandle) -> Answer {
        self.cvar(handle)?;
        self.objects.remove(handle.0);
        Ok(())
    }
}

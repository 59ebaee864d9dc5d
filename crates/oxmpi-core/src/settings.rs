//! Settings: an environment variable for the user, and a control variable for tools
//! (`tool/cvars.rs`).

use oxmpi_base::trust;
use oxmpi_check::Mode;
use oxmpi_coll::tuning::{self, Tuning};
use std::ffi::OsStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Single copies between processes, where the kernel allows them. Read once, when the process joins
/// the job.
pub static SINGLE_COPY: Switch = Switch::new("OXMPI_SINGLE_COPY", true);

/// Huge pages for buffers that are used repeatedly. Read once, when the process joins the job.
pub static HUGE_PAGES: Switch = Switch::new("OXMPI_HUGE_PAGES", true);

/// Ranks that can do nothing before others act say so, for `mpirun` to find deadlocks; `off` turns it off.
pub static DEADLOCK: Switch = Switch::new("OXMPI_DEADLOCK", true);

/// A thread that brings forward what is under way while the program computes (`helper.rs`). Read when the process joins the job.
/// The other names are those of MPICH and Intel MPI.
pub static ASYNC_PROGRESS: Switch =
    Switch::known_as("OXMPI_ASYNC_PROGRESS", false, &["MPICH_ASYNC_PROGRESS", "I_MPI_ASYNC_PROGRESS"]);

/// What `--check` shall do; off for words that mean nothing.
pub fn check_words() -> Mode {
    let value = trust::text(oxmpi_check::mode::VARIABLE).unwrap_or_default();
    Mode::from_variable(&value).unwrap_or_default()
}

/// The limits of the machine that `oxmpi tune` has measured. `mpirun` gives the same to all ranks and refuses what cannot be
/// read.
pub fn tuning() -> Tuning {
    static TUNING: OnceLock<Tuning> = OnceLock::new();
    let read = || Tuning::from_text(&trust::text(tuning::VARIABLE).unwrap_or_default()).unwrap_or_default();
    *TUNING.get_or_init(read)
}

/// A setting that is on or off. The environment is read at the first query; the value is
/// independent of everything else, hence the relaxed accesses.
pub struct Switch {
    state: AtomicU8,
    variable: &'static str,
    /// The value if the variable is not set.
    default: bool,
    /// Variables of other libraries that mean the same, where the own one is not set.
    others: &'static [&'static str],
}

const UNKNOWN: u8 = 2;

impl Switch {
    const fn new(variable: &'static str, default: bool) -> Switch {
        Switch::known_as(variable, default, &[])
    }

    const fn known_as(variable: &'static str, default: bool, others: &'static [&'static str]) -> Switch {
        Switch { state: AtomicU8::new(UNKNOWN), variable, default, others }
    }

    #[inline]
    pub fn is_on(&self) -> bool {
        match self.state.load(Relaxed) {
            UNKNOWN => self.ask(),
            state => state == 1,
        }
    }

    pub fn set(&self, on: bool) {
        self.state.store(on.into(), Relaxed);
    }

    #[cold]
    fn ask(&self) -> bool {
        let is_set = |name: &&str| trust::variable(name).is_some_and(|value| !value.is_empty());
        let on = match self.others.iter().find(|other| is_set(other) && !is_set(&self.variable)) {
            Some(other) => means_on_elsewhere(trust::variable(other).as_deref()),
            None => means_on(trust::variable(self.variable).as_deref(), self.default),
        };
        // Unless it was set in the meantime.
        match self.state.compare_exchange(UNKNOWN, on.into(), Relaxed, Relaxed) {
            Ok(_) => on,
            Err(state) => state == 1,
        }
    }
}

fn means_on(value: Option<&OsStr>, default: bool) -> bool {
    match value {
        Some(value) if !value.is_empty() => value != "0" && value != "off",
        _ => default,
    }
}

/// The words of other libraries.
fn means_on_elsewhere(value: Option<&OsStr>) -> bool {
    let word = value.map(|value| value.to_string_lossy().to_ascii_lowercase());
    matches!(word.as_deref(), Some("1" | "on" | "yes" | "true" | "enable"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unset_is_the_default_and_zero_is_off() {
        for default in [false, true] {
            assert_eq!(means_on(None, default), default);
            assert_eq!(means_on(Some(OsStr::new("")), default), default);
            assert!(!means_on(Some(OsStr::new("0")), default) && !means_on(Some(OsStr::new("off")), default));
            assert!(means_on(Some(OsStr::new("1")), default));
        }
    }

    #[test]
    fn words_of_other_libraries() {
        for (word, on) in
            [("1", true), ("yes", true), ("Enable", true), ("0", false), ("no", false), ("disable", false)]
        {
            assert_eq!(means_on_elsewhere(Some(OsStr::new(word))), on, "{word}");
        }
        assert!(!means_on_elsewhere(None));
    }

    #[test]
    fn a_set_value_overrides_the_environment() {
        let switch = Switch::new("OXMPI_OF_NOBODY", true);
        switch.set(false);
        assert!(!switch.is_on());
        switch.set(true);
        assert!(switch.is_on());
    }
}

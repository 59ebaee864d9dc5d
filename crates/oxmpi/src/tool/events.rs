//! Events: functions of a tool are called when something happens. These events are rare or slow, so
//! that a possible tool costs nothing but the load of one word.
//!
//! An event that occurs while its thread runs a tool's function is dropped, and so is one without a
//! registered function that may be called then; the tool is told before the next event. A
//! registration that is freed lasts until the calls under way have returned; only then is the tool
//! told that it is gone.

use super::answer::{Answer, INVALID, INVALID_HANDLE, at};
use super::category::Category;
use super::enums::Enumeration;
use super::state::{Object, State, Subject, Tool};
use oxmpi_abi::constants::*;
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::{Datatype, TEventInstance, TEventRegistration};
use oxmpi_abi::types::{Aint, Count, TCbSafety};
use oxmpi_core::library::Observer;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

pub struct Event {
    pub name: &'static str,
    pub description: &'static str,
    pub category: Category,
    /// The type and the offset of every element.
    pub elements: &'static [(Datatype, Aint)],
    pub names: Enumeration,
}

pub static EVENTS: [Event; 2] = [
    Event {
        name: "oxmpi_failed_call",
        description: "A call has failed: the error's class, and the number of the function as oxmpi_call has it. Its error handler \
                      is called afterwards.",
        category: Category::Errors,
        elements: &[(MPI_INT, 0), (MPI_INT, 4)],
        names: Enumeration::ErrorElements,
    },
    Event {
        name: "oxmpi_slept",
        description: "A call that waits has been asleep: the number of the function as oxmpi_call has it, and for how long, in \
                      nanoseconds",
        category: Category::Waiting,
        elements: &[(MPI_INT, 0), (MPI_UINT64_T, 8)],
        names: Enumeration::SleepElements,
    },
];
const FAILED_CALL: usize = 0;
const SLEPT: usize = 1;

/// The only source of events. Several threads may raise them, without a common order.
pub struct Source {
    pub name: &'static str,
    pub description: &'static str,
    pub order: i32,
    pub ticks_per_second: Count,
    pub max_ticks: Count,
}

pub static SOURCES: [Source; 1] = [Source {
    name: "oxmpi",
    description: "The calls of this process, by its monotonic clock, in nanoseconds",
    order: MPI_T_SOURCE_UNORDERED,
    ticks_per_second: 1_000_000_000,
    max_ticks: Count::MAX,
}];
const SOURCE: i32 = 0;

pub fn timestamp() -> Count {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time may be written; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// A tool's function. Arguments: the event, the registration, the safety of the call, and the
/// tool's data.
pub type EventFn = Arc<dyn Fn(TEventInstance, TEventRegistration, TCbSafety, usize) + Send + Sync>;
/// The same for dropped events: how many, of which registration and source.
pub type DroppedFn = Arc<dyn Fn(Count, TEventRegistration, i32, TCbSafety, usize) + Send + Sync>;
/// The same for a registration that is gone.
pub type FreedFn = Arc<dyn Fn(TEventRegistration, TCbSafety, usize) + Send + Sync>;

impl Observer for Tool {
    fn is_watching(&self) -> bool {
        self.subject.is_watched()
    }

    /// A call has slept, and continues.
    fn slept(&self, fun: Fun, time: Duration) {
        let threaded = self.subject.library.is_threaded();
        let safety = if threaded { MPI_T_CB_REQUIRE_THREAD_SAFE } else { MPI_T_CB_REQUIRE_MPI_RESTRICTED };
        let (call, time) = ((fun as i32).to_ne_bytes(), (time.as_nanos() as u64).to_ne_bytes());
        self.raise(SLEPT, safety, &[call.as_slice(), &[0; 4], &time].concat());
    }
}

impl Subject {
    #[inline]
    fn is_watched(&self) -> bool {
        self.watchers.load(Relaxed) != 0
    }
}

impl Tool {
    /// A call has failed. No lock is held, so a tool may call anything, like an error handler.
    pub fn failed(&self, fun: Fun, class: i32) {
        self.subject.errors.count(Duration::ZERO);
        if self.subject.is_watched() {
            let threaded = self.subject.library.is_threaded();
            let safety = if threaded { MPI_T_CB_REQUIRE_THREAD_SAFE } else { MPI_T_CB_REQUIRE_NONE };
            self.raise(FAILED_CALL, safety, &[class.to_ne_bytes(), (fun as i32).to_ne_bytes()].concat());
        }
    }

    /// Calls all registered functions. Must not be called with a lock of the library held.
    #[cold]
    fn raise(&self, event: usize, safety: TCbSafety, data: &[u8]) {
        let timestamp = timestamp();
        let (calls, instance) = self.state().prepare(event, safety, IS_BUSY.get(), timestamp, data);
        let Some(instance) = instance else { return };
        IS_BUSY.set(true);
        for (registration, call) in &calls {
            match call {
                EventCall::Happened(Callback { function, data }) => function(instance, *registration, safety, *data),
                EventCall::Dropped(function, count, data) => function(*count, *registration, SOURCE, safety, *data),
            }
        }
        let freed = self.state().conclude(&calls, instance);
        for (registration, function, data) in freed {
            if let Some(function) = function {
                function(registration, safety, data);
            }
        }
        IS_BUSY.set(false);
    }
}

/// A registration for the events of one type.
pub struct Registration {
    event: usize,
    callbacks: [Option<Callback>; SAFETIES.len()],
    on_dropped: Option<DroppedFn>,
    dropped: Count,
    /// Calls of its functions that are under way.
    running: usize,
    /// The handle was freed during a call; the function to be told.
    freed: Option<(Option<FreedFn>, usize)>,
}

#[derive(Clone)]
struct Callback {
    function: EventFn,
    data: usize,
}

/// The safety levels, from the lowest.
const SAFETIES: [TCbSafety; 4] = [
    MPI_T_CB_REQUIRE_NONE,
    MPI_T_CB_REQUIRE_MPI_RESTRICTED,
    MPI_T_CB_REQUIRE_THREAD_SAFE,
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE,
];

fn level(safety: TCbSafety) -> Answer<usize> {
    SAFETIES.iter().position(|&known| known == safety).ok_or(INVALID)
}

impl Registration {
    /// The function with the lowest sufficient safety level.
    fn callback(&self, safety: TCbSafety) -> Option<Callback> {
        let enough = self.callbacks.iter().zip(SAFETIES).filter(|(_, known)| *known >= safety);
        enough.filter_map(|(callback, _)| callback.clone()).next()
    }
}

/// An event, while a tool's functions are called for it.
pub struct Instance {
    event: usize,
    timestamp: Count,
    data: Vec<u8>,
}

impl Instance {
    /// The bytes of an element.
    fn element(&self, index: i32) -> Answer<&[u8]> {
        let &(datatype, start) = at(EVENTS[self.event].elements, index)?;
        let bytes = if datatype == MPI_INT { 4 } else { 8 };
        Ok(&self.data[start as usize..][..bytes])
    }
}

/// A function to call.
enum EventCall {
    Happened(Callback),
    Dropped(DroppedFn, Count, usize),
}

thread_local! {
    /// Whether this thread runs a tool's function.
    static IS_BUSY: Cell<bool> = const { Cell::new(false) };
}

impl State {
    fn registrations(&mut self) -> impl Iterator<Item = (TEventRegistration, &mut Registration)> {
        self.objects.iter_mut().filter_map(|(handle, object)| match object {
            Object::Registration(registration) => Some((TEventRegistration(handle), registration)),
            _ => None,
        })
    }

    /// The functions to call: first those for dropped events, then those for this event. Without an
    /// instance there are none.
    fn prepare(
        &mut self,
        event: usize,
        safety: TCbSafety,
        busy: bool,
        timestamp: Count,
        data: &[u8],
    ) -> (Vec<(TEventRegistration, EventCall)>, Option<TEventInstance>) {
        let (mut late, mut now) = (Vec::new(), Vec::new());
        let instance = Object::Instance(Instance { event, timestamp, data: data.to_vec() });
        let Ok(instance) = self.add(instance, MPI_T_ERR_OUT_OF_HANDLES) else { return (late, None) };
        for (handle, registration) in self.registrations().filter(|(_, registration)| registration.freed.is_none()) {
            let callback = registration.callback(safety).filter(|_| !busy);
            if let (Some(callback), Some(function)) = (&callback, &registration.on_dropped)
                && registration.dropped > 0
            {
                let count = std::mem::take(&mut registration.dropped);
                late.push((handle, EventCall::Dropped(Arc::clone(function), count, callback.data)));
                registration.running += 1;
            }
            if registration.event != event {
                continue;
            }
            if let Some(callback) = callback {
                now.push((handle, EventCall::Happened(callback)));
                registration.running += 1;
            } else if registration.on_dropped.is_some() && registration.callbacks.iter().any(Option::is_some) {
                registration.dropped = registration.dropped.saturating_add(1);
            }
        }
        late.append(&mut now);
        if late.is_empty() {
            self.objects.remove(instance);
            return (late, None);
        }
        (late, Some(TEventInstance(instance)))
    }

    /// After the calls have returned: the functions to be told that a registration is gone.
    fn conclude(
        &mut self,
        calls: &[(TEventRegistration, EventCall)],
        instance: TEventInstance,
    ) -> Vec<(TEventRegistration, Option<FreedFn>, usize)> {
        self.objects.remove(instance.0);
        let mut gone = Vec::new();
        for (handle, _) in calls {
            // Gone if the interface was finalised in the meantime.
            let Some(Object::Registration(registration)) = self.objects.get_mut(handle.0) else { continue };
            registration.running -= 1;
            if registration.running == 0
                && let Some((function, data)) = registration.freed.take()
            {
                self.objects.remove(handle.0);
                gone.push((*handle, function, data));
            }
        }
        gone
    }

    pub fn add_registration(&mut self, subject: &Subject, event: i32) -> Answer<TEventRegistration> {
        at(&EVENTS, event)?;
        let registration = Registration {
            event: event as usize,
            callbacks: std::array::from_fn(|_| None),
            on_dropped: None,
            dropped: 0,
            running: 0,
            freed: None,
        };
        let handle = self.add(Object::Registration(registration), MPI_T_ERR_OUT_OF_HANDLES)?;
        subject.watchers.fetch_add(1, Relaxed);
        Ok(TEventRegistration(handle))
    }

    fn registration(&mut self, handle: TEventRegistration) -> Answer<&mut Registration> {
        match self.objects.get_mut(handle.0) {
            Some(Object::Registration(registration)) if registration.freed.is_none() => Ok(registration),
            _ => Err(INVALID_HANDLE),
        }
    }

    pub fn check_registration(&mut self, handle: TEventRegistration) -> Answer {
        self.registration(handle).map(|_| ())
    }

    /// Checks that there is a function for this level.
    pub fn check_callback(&mut self, handle: TEventRegistration, safety: TCbSafety) -> Answer {
        let registration = self.registration(handle)?;
        registration.callbacks[level(safety)?].as_ref().map(|_| ()).ok_or(INVALID)
    }

    pub fn set_callback(
        &mut self,
        handle: TEventRegistration,
        safety: TCbSafety,
        function: Option<EventFn>,
        data: usize,
    ) -> Answer {
        let registration = self.registration(handle)?;
        registration.callbacks[level(safety)?] = function.map(|function| Callback { function, data });
        Ok(())
    }

    pub fn set_dropped(&mut self, handle: TEventRegistration, function: Option<DroppedFn>) -> Answer {
        let registration = self.registration(handle)?;
        if function.is_none() {
            registration.dropped = 0;
        }
        registration.on_dropped = function;
        Ok(())
    }

    /// Frees a registration. True when no call is under way: then the caller tells the tool now,
    /// otherwise it is told later.
    pub fn free_registration(
        &mut self,
        subject: &Subject,
        handle: TEventRegistration,
        function: Option<FreedFn>,
        data: usize,
    ) -> Answer<bool> {
        let registration = self.registration(handle)?;
        registration.freed = Some((function, data));
        let idle = registration.running == 0;
        if idle {
            self.objects.remove(handle.0);
        }
        subject.watchers.fetch_sub(1, Relaxed);
        Ok(idle)
    }

    fn instance(&self, handle: TEventInstance) -> Answer<&Instance> {
        match self.objects.get(handle.0) {
            Some(Object::Instance(instance)) => Ok(instance),
            _ => Err(INVALID_HANDLE),
        }
    }

    pub fn timestamp_of(&self, handle: TEventInstance) -> Answer<Count> {
        Ok(self.instance(handle)?.timestamp)
    }

    pub fn source_of(&self, handle: TEventInstance) -> Answer<i32> {
        self.instance(handle).map(|_| SOURCE)
    }

    pub fn element_of(&self, handle: TEventInstance, index: i32) -> Answer<&[u8]> {
        self.instance(handle)?.element(index)
    }

    pub fn data_of(&self, handle: TEventInstance) -> Answer<&[u8]> {
        Ok(&self.instance(handle)?.data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_lie_where_the_data_has_them() {
        let data: Vec<u8> = (0..16).collect();
        for (event, expected) in [(FAILED_CALL, [0..4, 4..8]), (SLEPT, [0..4, 8..16])] {
            let instance = Instance { event, timestamp: 0, data: data.clone() };
            for (index, bytes) in expected.into_iter().enumerate() {
                assert_eq!(instance.element(index as i32), Ok(&data[bytes]));
            }
            assert_eq!(instance.element(2), Err(super::super::INVALID_INDEX));
        }
    }

    #[test]
    fn the_function_with_the_least_safety_that_suffices_is_taken() {
        let tool = Tool::new(Box::leak(Box::default()));
        let mut state = State::new();
        let handle = state.add_registration(&tool.subject, 0).unwrap();
        for (safety, data) in [(MPI_T_CB_REQUIRE_THREAD_SAFE, 3), (MPI_T_CB_REQUIRE_NONE, 1)] {
            state.set_callback(handle, safety, Some(Arc::new(|_, _, _, _| ())), data).unwrap();
        }
        let registration = state.registration(handle).unwrap();
        let chosen = |safety| registration.callback(safety).map(|callback| callback.data);
        assert_eq!(chosen(MPI_T_CB_REQUIRE_NONE), Some(1));
        assert_eq!(chosen(MPI_T_CB_REQUIRE_MPI_RESTRICTED), Some(3));
        assert_eq!(chosen(MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE), None);
    }
}

//! Counters of the kernel and of the processor (`perf_event_open`), for a
//! program and its descendants.
//!
//! The helper opens them for itself, disabled. A program inherits them, and its
//! exec enables them, so that nothing of the helper is counted. The helper's
//! value includes the counts of its ended children.

use std::fs::File;
use std::io;

use serde::{Deserialize, Serialize};

/// Something to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    pub event: CounterEvent,
    /// Whether to count also what the kernel does on the program's behalf.
    pub(crate) kernel: bool,
}

/// An event as `perf_event_open(2)` names it: its type, and its number among those of that type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterEvent(u32, u64);

const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;
const RAW: u32 = 4;

impl CounterEvent {
    pub(crate) const CONTEXT_SWITCHES: Self = CounterEvent(SOFTWARE, 3);

    /// The event of a metric; the instructions are also that of metrics derived from them.
    pub(crate) fn of(metric: &str) -> Self {
        match metric {
            // They last longer when the clock is slower.
            "cycles" => CounterEvent(HARDWARE, 0),
            // In the last-level cache, usually.
            "cache_misses" => CounterEvent(HARDWARE, 3),
            "branches" => CounterEvent(HARDWARE, 4),
            "branch_misses" => CounterEvent(HARDWARE, 5),
            // Nanoseconds on a processor.
            "task_clock" => CounterEvent(SOFTWARE, 1),
            "page_faults" => CounterEvent(SOFTWARE, 2),
            "context_switches" => Self::CONTEXT_SWITCHES,
            _ => CounterEvent(HARDWARE, 1),
        }
    }

    /// An event by this processor's own number.
    pub(crate) fn raw(number: u64) -> Self {
        CounterEvent(RAW, number)
    }

    /// Whether the kernel counts it, and not the processor.
    pub(crate) fn is_of_kernel(self) -> bool {
        self.0 == SOFTWARE
    }
}

/// What a counter has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CounterReading {
    pub(crate) value: u64,
    /// How long it was switched on, nanoseconds.
    pub(crate) enabled: u64,
    /// For how much of that time it did count, nanoseconds: less if counters
    /// were multiplexed.
    pub(crate) running: u64,
}

/// Tests whether this machine allows counting a program like this.
///
/// # Errors
/// The system's reason why not.
pub(crate) fn probe(counter: Counter) -> io::Result<()> {
    OpenCounters::open(&[counter]).map(drop)
}

/// Why a counter can't be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CounterRefusal {
    /// The machine does not count this event.
    NoEvent,
    /// It may, but not for this process.
    Forbidden,
    /// The system has no `perf_event_open`.
    NoCall,
    Other,
}

/// The meaning of an error of [`probe`].
pub(crate) fn reason(error: &io::Error) -> CounterRefusal {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV | libc::ENXIO) => {
            CounterRefusal::NoEvent
        }
        Some(libc::EACCES | libc::EPERM) => CounterRefusal::Forbidden,
        // Other systems are not even asked.
        Some(libc::ENOSYS) | None => CounterRefusal::NoCall,
        Some(_) => CounterRefusal::Other,
    }
}

/// Open counters of this thread and of every program that it starts from now on.
pub(super) struct OpenCounters(Vec<File>);

impl OpenCounters {
    pub(super) fn open(counters: &[Counter]) -> io::Result<Self> {
        let opened = counters.iter().map(|&counter| open(counter));
        opened.collect::<io::Result<_>>().map(OpenCounters)
    }

    /// The readings in the order of the counters.
    pub(super) fn read(&self) -> io::Result<Vec<CounterReading>> {
        self.0.iter().map(read).collect()
    }
}

#[cfg(target_os = "linux")]
fn open(counter: Counter) -> io::Result<File> {
    use perf_event_open_sys::{bindings as sys, perf_event_open};
    use std::os::fd::FromRawFd;
    let mut attr = sys::perf_event_attr {
        type_: counter.event.0,
        size: size_of::<sys::perf_event_attr>() as u32,
        config: counter.event.1,
        read_format: u64::from(
            sys::PERF_FORMAT_TOTAL_TIME_ENABLED | sys::PERF_FORMAT_TOTAL_TIME_RUNNING,
        ),
        ..Default::default()
    };
    attr.set_disabled(1);
    attr.set_inherit(1);
    attr.set_enable_on_exec(1);
    attr.set_exclude_kernel(u64::from(!counter.kernel));
    attr.set_exclude_hv(1);
    // SAFETY: the attributes are initialised and carry their size; the counter
    // writes into no memory of ours.
    let fd = unsafe {
        perf_event_open(&raw mut attr, 0, -1, -1, libc::c_ulong::from(sys::PERF_FLAG_FD_CLOEXEC))
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel made this descriptor for us.
    Ok(unsafe { File::from_raw_fd(fd) })
}

#[cfg(not(target_os = "linux"))]
fn open(_counter: Counter) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

fn read(mut counter: &File) -> io::Result<CounterReading> {
    let mut words = [[0; 8]; 3];
    io::Read::read_exact(&mut counter, words.as_flattened_mut())?;
    let [value, enabled, running] = words.map(u64::from_ne_bytes);
    Ok(CounterReading { value, enabled, running })
}

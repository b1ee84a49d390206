//! Counters of the kernel and of the processor (`perf_event_open`), for a
//! program and its descendants.
//!
//! The helper opens them for itself, disabled. A program inherits them, and its
//! exec enables them, so that nothing of the helper is counted. The helper's
//! value includes the counts of its ended children.

use std::io;

use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
use std::fs::File;

/// Something to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    pub event: CounterEvent,
    /// Whether to count also what the kernel does on the program's behalf.
    pub(crate) kernel: bool,
}

/// An event as `perf_event_open(2)` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CounterEvent {
    Hardware(HardwareEvent),
    Software(SoftwareEvent),
    /// An event by this processor's own number.
    Raw(u64),
}

/// Events that most processors count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HardwareEvent {
    /// Cycles, which last longer when the clock is slower.
    Cycles,
    /// Retired instructions.
    Instructions,
    /// Misses in the last-level cache, usually.
    CacheMisses,
    /// Retired branches.
    Branches,
    /// Mispredicted branches.
    BranchMisses,
}

/// Events that the kernel counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SoftwareEvent {
    /// Nanoseconds on a processor.
    TaskClock,
    /// Page faults, minor and major.
    PageFaults,
    ContextSwitches,
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
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux can tell"))]
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
    #[cfg(target_os = "linux")]
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV | libc::ENXIO) => {
            CounterRefusal::NoEvent
        }
        Some(libc::EACCES | libc::EPERM) => CounterRefusal::Forbidden,
        Some(libc::ENOSYS) => CounterRefusal::NoCall,
        _ => CounterRefusal::Other,
    }
    // No counter was requested.
    #[cfg(not(target_os = "linux"))]
    if error.kind() == io::ErrorKind::Unsupported {
        CounterRefusal::NoCall
    } else {
        CounterRefusal::Other
    }
}

/// Open counters of this thread and of every program that it starts from now on.
#[cfg(target_os = "linux")]
pub(super) struct OpenCounters(Vec<File>);

#[cfg(target_os = "linux")]
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
    let hardware = |event| match event {
        HardwareEvent::Cycles => sys::PERF_COUNT_HW_CPU_CYCLES,
        HardwareEvent::Instructions => sys::PERF_COUNT_HW_INSTRUCTIONS,
        HardwareEvent::CacheMisses => sys::PERF_COUNT_HW_CACHE_MISSES,
        HardwareEvent::Branches => sys::PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
        HardwareEvent::BranchMisses => sys::PERF_COUNT_HW_BRANCH_MISSES,
    };
    let software = |event| match event {
        SoftwareEvent::TaskClock => sys::PERF_COUNT_SW_TASK_CLOCK,
        SoftwareEvent::PageFaults => sys::PERF_COUNT_SW_PAGE_FAULTS,
        SoftwareEvent::ContextSwitches => sys::PERF_COUNT_SW_CONTEXT_SWITCHES,
    };
    let (kind, config) = match counter.event {
        CounterEvent::Hardware(event) => (sys::PERF_TYPE_HARDWARE, u64::from(hardware(event))),
        CounterEvent::Software(event) => (sys::PERF_TYPE_SOFTWARE, u64::from(software(event))),
        CounterEvent::Raw(number) => (sys::PERF_TYPE_RAW, number),
    };
    let mut attr = sys::perf_event_attr {
        type_: kind,
        size: size_of::<sys::perf_event_attr>() as u32,
        config,
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

#[cfg(target_os = "linux")]
fn read(mut counter: &File) -> io::Result<CounterReading> {
    let mut words = [[0; 8]; 3];
    io::Read::read_exact(&mut counter, words.as_flattened_mut())?;
    let [value, enabled, running] = words.map(u64::from_ne_bytes);
    Ok(CounterReading { value, enabled, running })
}

/// No counters: this system has none.
#[cfg(not(target_os = "linux"))]
pub(super) struct OpenCounters;

#[cfg(not(target_os = "linux"))]
impl OpenCounters {
    pub(super) fn open(counters: &[Counter]) -> io::Result<Self> {
        match counters {
            [] => Ok(OpenCounters),
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    pub(super) fn read(&self) -> io::Result<Vec<CounterReading>> {
        Ok(Vec::new())
    }
}

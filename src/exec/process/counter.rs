//! Counters of the kernel and of the processor (`perf_event_open`), for a
//! program and its descendants.
//!
//! The helper opens them on itself, switched off; a program inherits them, and
//! its exec switches its own ones on, so that nothing of the helper is
//! counted. What ended children counted is in the helper's value.

use std::io;

#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;

/// Something to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// What counts it, and its number there.
    pub event: Event,
    /// Whether what happens in the kernel on the program's behalf counts, too.
    pub kernel: bool,
}

/// An event, by the numbers of `perf_event_open(2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// One of the events that the kernel finds on most processors.
    Hardware(Hardware),
    /// One that the kernel itself counts.
    Software(Software),
    /// One by this processor's own number.
    Raw(u64),
}

/// Events of most processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hardware {
    /// Cycles, which last longer when the clock is slower.
    Cycles,
    /// Retired instructions.
    Instructions,
    /// Misses in the last cache, usually.
    CacheMisses,
    /// Retired branches.
    Branches,
    /// Mispredicted branches.
    BranchMisses,
}

/// Events of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Software {
    /// Nanoseconds on a processor.
    TaskClock,
    /// Page faults of both kinds.
    PageFaults,
    /// Changes to another thread.
    ContextSwitches,
}

/// What a counter came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The number.
    pub value: u64,
    /// Nanoseconds that it was to count.
    pub enabled: u64,
    /// Nanoseconds of these that it did count: fewer where counters had to
    /// take turns.
    pub running: u64,
}

/// Whether a program can be counted so, as far as opening it tells.
///
/// # Errors
/// What the system says against it.
pub(crate) fn probe(counter: Counter) -> io::Result<()> {
    Counters::open(&[counter]).map(drop)
}

/// What an error of [`probe`] means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// There is no such event here.
    NoEvent,
    /// There may be, but not for this process.
    Forbidden,
    /// There is no such system call.
    NoCall,
    /// Something else.
    Other,
}

/// What an error of [`probe`] means.
pub fn reason(error: &io::Error) -> Reason {
    #[cfg(target_os = "linux")]
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV | libc::ENXIO) => Reason::NoEvent,
        Some(libc::EACCES | libc::EPERM) => Reason::Forbidden,
        Some(libc::ENOSYS) => Reason::NoCall,
        _ => Reason::Other,
    }
    // Nobody was asked.
    #[cfg(not(target_os = "linux"))]
    if error.kind() == io::ErrorKind::Unsupported { Reason::NoCall } else { Reason::Other }
}

/// Open counters, of this thread and of whatever it starts from now on.
#[cfg(target_os = "linux")]
pub(super) struct Counters(Vec<OwnedFd>);

#[cfg(target_os = "linux")]
impl Counters {
    pub(super) fn open(counters: &[Counter]) -> io::Result<Self> {
        counters.iter().map(|&counter| open(counter)).collect::<io::Result<_>>().map(Counters)
    }

    /// The counts, in the order in which they were asked for.
    pub(super) fn read(&self) -> io::Result<Vec<Count>> {
        self.0.iter().map(read).collect()
    }
}

#[cfg(target_os = "linux")]
fn open(counter: Counter) -> io::Result<OwnedFd> {
    use perf_event_open_sys::{bindings as sys, perf_event_open};
    use std::os::fd::FromRawFd;
    let (kind, config) = match counter.event {
        Event::Hardware(event) => (sys::PERF_TYPE_HARDWARE, u64::from(hardware(event))),
        Event::Software(event) => (sys::PERF_TYPE_SOFTWARE, u64::from(software(event))),
        Event::Raw(number) => (sys::PERF_TYPE_RAW, number),
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
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(target_os = "linux")]
fn read(fd: &OwnedFd) -> io::Result<Count> {
    use std::os::fd::AsRawFd;
    let mut words = [0u64; 3];
    let size = size_of_val(&words);
    // SAFETY: the pointer and the size describe the array.
    let got = unsafe { libc::read(fd.as_raw_fd(), words.as_mut_ptr().cast(), size) };
    match usize::try_from(got) {
        Err(_) => Err(io::Error::last_os_error()),
        Ok(got) if got == size => {
            Ok(Count { value: words[0], enabled: words[1], running: words[2] })
        }
        Ok(_) => Err(io::Error::from_raw_os_error(libc::EIO)),
    }
}

#[cfg(target_os = "linux")]
fn hardware(event: Hardware) -> u32 {
    use perf_event_open_sys::bindings as sys;
    match event {
        Hardware::Cycles => sys::PERF_COUNT_HW_CPU_CYCLES,
        Hardware::Instructions => sys::PERF_COUNT_HW_INSTRUCTIONS,
        Hardware::CacheMisses => sys::PERF_COUNT_HW_CACHE_MISSES,
        Hardware::Branches => sys::PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
        Hardware::BranchMisses => sys::PERF_COUNT_HW_BRANCH_MISSES,
    }
}

#[cfg(target_os = "linux")]
fn software(event: Software) -> u32 {
    use perf_event_open_sys::bindings as sys;
    match event {
        Software::TaskClock => sys::PERF_COUNT_SW_TASK_CLOCK,
        Software::PageFaults => sys::PERF_COUNT_SW_PAGE_FAULTS,
        Software::ContextSwitches => sys::PERF_COUNT_SW_CONTEXT_SWITCHES,
    }
}

/// No counters: there are none on this system.
#[cfg(not(target_os = "linux"))]
pub(super) struct Counters;

#[cfg(not(target_os = "linux"))]
impl Counters {
    pub(super) fn open(counters: &[Counter]) -> io::Result<Self> {
        match counters {
            [] => Ok(Counters),
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    #[cfg(unix)]
    pub(super) fn read(&self) -> io::Result<Vec<Count>> {
        Ok(Vec::new())
    }
}

#[cfg(unix)]
impl Counter {
    /// In ten bytes, for the way to the helper.
    pub(super) fn encode(self) -> [u8; 10] {
        let (kind, number) = match self.event {
            Event::Hardware(event) => (0, event as u64),
            Event::Software(event) => (1, event as u64),
            Event::Raw(number) => (2, number),
        };
        let mut bytes = [kind, u8::from(self.kernel), 0, 0, 0, 0, 0, 0, 0, 0];
        bytes[2..].copy_from_slice(&number.to_ne_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8; 10]) -> Option<Self> {
        let [kind, kernel, number @ ..] = *bytes;
        let number = u64::from_ne_bytes(number);
        let event = match kind {
            0 => Event::Hardware(*HARDWARE.iter().find(|event| **event as u64 == number)?),
            1 => Event::Software(*SOFTWARE.iter().find(|event| **event as u64 == number)?),
            _ => Event::Raw(number),
        };
        Some(Counter { event, kernel: kernel == 1 })
    }
}

#[cfg(unix)]
const HARDWARE: [Hardware; 5] = [
    Hardware::Cycles,
    Hardware::Instructions,
    Hardware::CacheMisses,
    Hardware::Branches,
    Hardware::BranchMisses,
];

#[cfg(unix)]
const SOFTWARE: [Software; 3] =
    [Software::TaskClock, Software::PageFaults, Software::ContextSwitches];

#[cfg(unix)]
impl Count {
    pub(super) fn encode(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        for (word, place) in
            [self.value, self.enabled, self.running].into_iter().zip(bytes.chunks_exact_mut(8))
        {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    pub(super) fn decode(bytes: &[u8; 24]) -> Self {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_ne_bytes(word)
        };
        Count { value: word(0), enabled: word(8), running: word(16) }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_goes_to_the_helper_and_back_stays_what_it_is() {
        let hardware = HARDWARE.map(Event::Hardware);
        let software = SOFTWARE.map(Event::Software);
        let raw = [Event::Raw(0x1cb), Event::Raw(u64::MAX)];
        for event in hardware.into_iter().chain(software).chain(raw) {
            for kernel in [false, true] {
                let counter = Counter { event, kernel };
                assert_eq!(Counter::decode(&counter.encode()), Some(counter));
            }
        }
        let count = Count { value: 1 << 60, enabled: 3, running: 2 };
        assert_eq!(Count::decode(&count.encode()), count);
    }
}

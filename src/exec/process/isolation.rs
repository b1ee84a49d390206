//! Where a program's memory lies, on which processor it runs, and how nice it
//! is to other programs.

use std::io;

#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
#[cfg(target_os = "linux")]
use rustix::time::{ClockId, clock_getres};
use serde::{Deserialize, Serialize};

/// How a program is kept apart from the rest of the machine: by default, not at
/// all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Isolation {
    /// Whether its addresses are the same in every run (Linux).
    pub fixed_addresses: bool,
    /// The only processors on which it and its children may run (Linux); any if there are none.
    pub cpus: Vec<u16>,
    /// How much nicer than its parent it is, -39 to 39; 0 for no change.
    pub nice: i8,
}

/// The part of an [`Isolation`] that the machine refuses.
#[derive(Debug, thiserror::Error)]
pub enum IsolationError {
    /// The addresses.
    #[error("could not switch off address randomisation")]
    Addresses(#[source] io::Error),
    /// The processor.
    #[error("could not run on processor {0}")]
    Cpu(u16, #[source] io::Error),
    /// The niceness.
    #[error("could not change the niceness by {0}")]
    Nice(i8, #[source] io::Error),
}

/// The processors on which this process may run; empty where the system does not
/// tell.
pub fn allowed_cpus() -> Vec<u16> {
    #[cfg(target_os = "linux")]
    if let Ok(set) = sched_getaffinity(None) {
        let all = 0..CpuSet::MAX_CPU as u16;
        return all.filter(|&cpu| set.is_set(cpu.into())).collect();
    }
    Vec::new()
}

/// The resolution of user time and of kernel time, seconds: the kernel's tick,
/// at which it looks in which of the two modes a process is. Their sum is finer.
pub fn tick() -> f64 {
    #[cfg(target_os = "linux")]
    {
        let step = clock_getres(ClockId::MonotonicCoarse);
        step.tv_sec as f64 + step.tv_nsec as f64 / 1e9
    }
    #[cfg(not(target_os = "linux"))]
    1e-6
}

impl Isolation {
    /// Tries each part of it on a thread of this process, which then ends. The child itself
    /// could only report that something was refused, not what.
    ///
    /// # Errors
    /// The part that the machine refuses.
    pub fn rehearse(&self) -> Result<(), IsolationError> {
        let addresses = Isolation { fixed_addresses: self.fixed_addresses, ..Isolation::default() };
        addresses.tried().map_err(IsolationError::Addresses)?;
        // One by one: of several, the kernel leaves out those that it does not have.
        for &cpu in &self.cpus {
            let alone = Isolation { cpus: vec![cpu], ..Isolation::default() };
            alone.tried().map_err(|error| IsolationError::Cpu(cpu, error))?;
        }
        let nice = Isolation { nice: self.nice, ..Isolation::default() };
        nice.tried().map_err(|error| IsolationError::Nice(self.nice, error))
    }

    fn tried(&self) -> io::Result<()> {
        if *self == Isolation::default() {
            return Ok(());
        }
        let thread = std::thread::scope(|scope| scope.spawn(|| self.try_here()).join());
        thread.unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
    }

    /// Whether the machine would refuse it. Call it on a thread that then ends.
    #[cfg(target_os = "linux")]
    fn try_here(&self) -> io::Result<()> {
        self.apply(self.cpu_set().as_ref())
    }

    /// Elsewhere only the niceness can be changed. It belongs to the whole process there, so it
    /// can't be tried on a thread.
    #[cfg(not(target_os = "linux"))]
    fn try_here(&self) -> io::Result<()> {
        // Only root may be less nice than its parent.
        let is_refused = self.nice < 0 && super::unix::user_id() != 0;
        match (self.fixed_addresses || !self.cpus.is_empty(), is_refused) {
            (true, _) => Err(io::Error::from_raw_os_error(libc::ENOTSUP)),
            (false, true) => Err(io::Error::from_raw_os_error(libc::EACCES)),
            (false, false) => Ok(()),
        }
    }

    /// The processors in the system's own type, if there are any.
    #[cfg(target_os = "linux")]
    pub(super) fn cpu_set(&self) -> Option<CpuSet> {
        let mut set = CpuSet::new();
        let known = self.cpus.iter().map(|cpu| usize::from(*cpu));
        known.filter(|cpu| *cpu < CpuSet::MAX_CPU).for_each(|cpu| set.set(cpu));
        (!self.cpus.is_empty()).then_some(set)
    }

    /// Applies it to the calling thread, with these processors and with nothing but system calls,
    /// so that a child may do it between clone and exec.
    #[cfg(target_os = "linux")]
    pub(super) fn apply(&self, cpus: Option<&CpuSet>) -> io::Result<()> {
        if let Some(cpus) = cpus {
            sched_setaffinity(None, cpus)?;
        }
        // SAFETY: plain system calls.
        unsafe {
            if self.fixed_addresses {
                let old = libc::personality(0xffff_ffff);
                let new = old | libc::ADDR_NO_RANDOMIZE;
                if old < 0 || libc::personality(new as libc::c_ulong) < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            if self.nice != 0 {
                // `nice` may return -1 as a niceness, so only the error number tells.
                *libc::__errno_location() = 0;
                libc::nice(self.nice.into());
                if *libc::__errno_location() != 0 {
                    return Err(io::Error::last_os_error());
                }
            }
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_refuses_is_named_and_leaves_this_process_alone() {
        let allowed = allowed_cpus();
        assert!(!allowed.is_empty());
        let on = |cpus: &[u16]| Isolation { cpus: cpus.to_vec(), nice: 1, ..Isolation::default() };
        assert!(on(&allowed[..1]).rehearse().is_ok());
        assert!(on(&allowed).rehearse().is_ok());
        assert_eq!(allowed_cpus(), allowed);
        for refused in [&[u16::MAX][..], &[allowed[0], u16::MAX]] {
            let error = on(refused).rehearse().unwrap_err();
            assert_eq!(error.to_string(), "could not run on processor 65535");
        }
    }

    #[test]
    fn a_tick_is_a_fraction_of_a_second() {
        assert!((1e-9..=0.02).contains(&tick()), "{}", tick());
    }
}

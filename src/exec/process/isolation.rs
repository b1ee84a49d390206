//! What the machine does with a program beside running it: where its memory
//! lies, on which processor it runs, how nice it is to others.

use std::io;

/// How a program is set apart from the rest of the machine. The default is:
/// not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Isolation {
    /// Whether its addresses are the same in every run (Linux).
    pub fixed_addresses: bool,
    /// The one processor on which it and its children may run (Linux).
    pub cpu: Option<u16>,
    /// How much nicer than its parent it is, -39 to 39; 0 leaves it alone.
    pub nice: i8,
}

/// A part of an [`Isolation`] that the machine refused.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
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

/// The processors on which this process may run; none where the system does
/// not say.
pub fn allowed_cpus() -> Vec<u16> {
    #[cfg(target_os = "linux")]
    // SAFETY: the set is zeroed and only written to, and CPU_ISSET is asked
    // within its range.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) == 0 {
            let all = 0..(8 * size_of::<libc::cpu_set_t>()) as u16;
            return all.filter(|&cpu| libc::CPU_ISSET(cpu.into(), &set)).collect();
        }
    }
    Vec::new()
}

/// The least time that processor time is told apart by in user and kernel
/// mode, seconds: the kernel's tick, which decides in which of the two a
/// process was. Their sum is finer, but on Windows.
pub fn tick() -> f64 {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: the time is only written to.
        let (done, step) = unsafe {
            let mut step: libc::timespec = std::mem::zeroed();
            (libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut step), step)
        };
        if done == 0 {
            return step.tv_sec as f64 + step.tv_nsec as f64 / 1e9;
        }
    }
    if cfg!(windows) { 1.0 / 64.0 } else { 1e-6 }
}

impl Isolation {
    /// Tries it on a thread of this process, which ends with it: the child
    /// itself could only say that something was refused, not what.
    ///
    /// # Errors
    /// What the machine refuses.
    pub fn rehearse(&self) -> Result<(), Refused> {
        if *self == Isolation::default() {
            return Ok(());
        }
        let ready = self.ready();
        let tried = std::thread::scope(|scope| scope.spawn(move || ready.rehearse()).join());
        let (step, number) = match tried {
            Ok(Ok(())) => return Ok(()),
            Ok(Err((step, number))) => (step, number),
            Err(_) => return Err(Refused::Addresses(io::ErrorKind::Other.into())),
        };
        let error = io::Error::from_raw_os_error(number);
        Err(match step {
            Step::Addresses => Refused::Addresses(error),
            Step::Cpu => Refused::Cpu(self.cpu.unwrap_or_default(), error),
            Step::Nice => Refused::Nice(self.nice, error),
        })
    }

    /// For the wire.
    #[cfg(unix)]
    pub(super) fn encode(&self) -> [u8; 5] {
        let [low, high] = self.cpu.unwrap_or_default().to_ne_bytes();
        let cpu = u8::from(self.cpu.is_some());
        [u8::from(self.fixed_addresses), cpu, low, high, self.nice.to_ne_bytes()[0]]
    }

    /// What [`Isolation::encode`] made.
    #[cfg(unix)]
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let &[fixed, has_cpu, low, high, nice] = bytes else { return None };
        let cpu = (has_cpu == 1).then_some(u16::from_ne_bytes([low, high]));
        let nice = i8::from_ne_bytes([nice]);
        Some(Isolation { fixed_addresses: fixed == 1, cpu, nice })
    }

    /// All that can be computed before a child exists.
    pub(super) fn ready(&self) -> Ready {
        // SAFETY: a zeroed set is an empty one, and CPU_SET checks its range.
        #[cfg(target_os = "linux")]
        let cpus = self.cpu.map(|cpu| unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            if usize::from(cpu) < 8 * size_of::<libc::cpu_set_t>() {
                libc::CPU_SET(cpu.into(), &mut set);
            }
            set
        });
        Ready {
            fixed_addresses: self.fixed_addresses,
            #[cfg(target_os = "linux")]
            cpus,
            #[cfg(not(target_os = "linux"))]
            has_cpu: self.cpu.is_some(),
            nice: self.nice.into(),
        }
    }
}

/// "This system has no such thing."
#[cfg(all(unix, not(target_os = "linux")))]
const NOT_SUPPORTED: i32 = libc::ENOTSUP;
#[cfg(windows)]
const NOT_SUPPORTED: i32 = 50;

/// A step of [`Ready::apply`].
#[derive(Clone, Copy)]
pub(super) enum Step {
    Addresses,
    Cpu,
    Nice,
}

/// An [`Isolation`] in the system's words.
#[derive(Clone, Copy)]
pub(super) struct Ready {
    fixed_addresses: bool,
    #[cfg(target_os = "linux")]
    cpus: Option<libc::cpu_set_t>,
    #[cfg(not(target_os = "linux"))]
    has_cpu: bool,
    nice: i32,
}

impl Ready {
    /// Applies it to the calling thread; system calls only, so that a child
    /// may do it between clone and exec. Else the step that failed and the
    /// system's error number.
    #[cfg(target_os = "linux")]
    pub(super) fn apply(&self) -> Result<(), (Step, i32)> {
        // SAFETY: plain system calls; the set outlives its call.
        unsafe {
            if self.fixed_addresses {
                let old = libc::personality(0xffff_ffff);
                let new = old | libc::ADDR_NO_RANDOMIZE;
                if old < 0 || libc::personality(new as libc::c_ulong) < 0 {
                    return Err((Step::Addresses, *libc::__errno_location()));
                }
            }
            if let Some(cpus) = &self.cpus
                && libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), cpus) != 0
            {
                return Err((Step::Cpu, *libc::__errno_location()));
            }
            if self.nice != 0 {
                // -1 is a niceness, too, so the error number alone tells.
                *libc::__errno_location() = 0;
                libc::nice(self.nice);
                let number = *libc::__errno_location();
                if number != 0 {
                    return Err((Step::Nice, number));
                }
            }
        }
        Ok(())
    }

    /// Whether the machine would refuse it; to be asked on a thread that ends.
    #[cfg(target_os = "linux")]
    fn rehearse(&self) -> Result<(), (Step, i32)> {
        self.apply()
    }

    /// Elsewhere only the niceness can be had, and on Windows not even that.
    /// It is the whole process's there, so that it can't be tried.
    #[cfg(not(target_os = "linux"))]
    fn rehearse(&self) -> Result<(), (Step, i32)> {
        if self.fixed_addresses {
            return Err((Step::Addresses, NOT_SUPPORTED));
        }
        if self.has_cpu {
            return Err((Step::Cpu, NOT_SUPPORTED));
        }
        #[cfg(unix)]
        // Only root may be less nice than its parent.
        // SAFETY: geteuid has no preconditions.
        let refused = (self.nice < 0 && unsafe { libc::geteuid() } != 0).then_some(libc::EACCES);
        #[cfg(windows)]
        let refused = (self.nice != 0).then_some(NOT_SUPPORTED);
        refused.map_or(Ok(()), |number| Err((Step::Nice, number)))
    }

    /// The niceness, where std starts the program; what else there is was
    /// refused.
    #[cfg(all(unix, any(test, not(target_os = "linux"))))]
    pub(super) fn nice(&self) -> Option<libc::c_int> {
        (self.nice != 0).then_some(self.nice)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn it_survives_the_wire() {
        for isolation in [
            Isolation::default(),
            Isolation { fixed_addresses: true, cpu: Some(300), nice: -20 },
            Isolation { fixed_addresses: false, cpu: Some(0), nice: 19 },
        ] {
            assert_eq!(Isolation::decode(&isolation.encode()), Some(isolation));
        }
        assert_eq!(Isolation::decode(&[1, 2]), None);
    }

    #[test]
    fn what_the_machine_refuses_is_named_and_leaves_this_process_alone() {
        let allowed = allowed_cpus();
        assert!(!allowed.is_empty());
        let one = Isolation { cpu: allowed.first().copied(), nice: 1, ..Isolation::default() };
        assert!(one.rehearse().is_ok());
        assert_eq!(allowed_cpus(), allowed);
        let none = Isolation { cpu: Some(u16::MAX), ..Isolation::default() };
        let error = none.rehearse().unwrap_err();
        assert_eq!(error.to_string(), "could not run on processor 65535");
    }

    #[test]
    fn a_tick_is_a_fraction_of_a_second() {
        assert!((1e-9..=0.02).contains(&tick()), "{}", tick());
    }
}

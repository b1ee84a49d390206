//! The machine, described just precisely enough to decide whether two results can be compared.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::exec::machine::{Machine, Processor};

/// What identifies a kind of machine. What changes from boot to boot is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Fingerprint {
    /// The processor's model; empty if unknown.
    pub cpu: String,
    /// How many processors the system runs.
    pub cores: u64,
    /// The memory in MiB: the nearest of 1, 1.5, 2, 3, 4, 6, 8 GiB and so on, since
    /// systems differ in how much of it they keep for themselves.
    pub memory_mib: u64,
    /// The operating system: its kind and, if known, its distribution and version.
    pub os: String,
    /// The processor's architecture.
    pub arch: String,
}

impl Fingerprint {
    /// The fingerprint of this machine. Unknown parts are empty.
    pub(crate) fn here() -> Self {
        let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
        Fingerprint::of(&Machine::read(Path::new("/")), &release)
    }

    /// The fingerprint of a machine with this text in `/etc/os-release`.
    fn of(machine: &Machine, release: &str) -> Self {
        let Processor { name, vendor, family, model, .. } = &machine.processor;
        // A processor without a name, as on Arm, has numbers.
        let numbers = || {
            let numbers = [family, model].into_iter().flatten().map(u64::to_string);
            vendor.iter().cloned().chain(numbers).collect::<Vec<_>>().join(" ")
        };
        let available =
            || std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
        let field = |name| {
            let found = release.lines().find_map(|line| line.strip_prefix(name));
            found.map(|text| text.trim().trim_matches('"'))
        };
        let os = [Some(std::env::consts::OS), field("ID="), field("VERSION_ID=")];
        Fingerprint {
            cpu: name.clone().unwrap_or_else(numbers),
            cores: machine.online.unwrap_or_else(available),
            memory_mib: machine.memory.map_or(0, |bytes| usual_size(bytes as f64 / 1_048_576.0)),
            os: os.into_iter().flatten().collect::<Vec<_>>().join(" "),
            arch: std::env::consts::ARCH.to_owned(),
        }
    }
}

/// The nearest size, by ratio, that memory is sold in: a power of two, or one and a half
/// times one.
fn usual_size(mib: f64) -> u64 {
    if mib < 1.0 {
        return 0;
    }
    let power = mib.log2().floor().exp2();
    let sizes = [power, 1.5 * power, 2.0 * power];
    let distance = |size: &f64| (size / mib).ln().abs();
    let nearest = sizes.into_iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
    nearest.unwrap_or(power).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(gib: f64) -> Machine {
        let processor = Processor { name: Some("Some CPU".to_owned()), ..Processor::default() };
        let memory = Some((gib * 1024.0 * 1_048_576.0) as u64);
        Machine { processor, online: Some(2), memory, ..Machine::default() }
    }

    #[test]
    fn model_cores_memory_and_system_count_and_what_changes_by_the_hour_does_not() {
        let release = "ID=debian\nVERSION_ID=\"12\"\nNAME=\"Debian\"\n";
        let fingerprint = Fingerprint::of(&machine(15.6), release);
        assert_eq!((&*fingerprint.cpu, fingerprint.cores), ("Some CPU", 2));
        assert_eq!(fingerprint.memory_mib, 16 * 1024);
        assert!(fingerprint.os.ends_with(" debian 12"));
        let busy = Machine { load: Some(3.0), turbo: Some(true), ..machine(15.5) };
        assert_eq!(fingerprint, Fingerprint::of(&busy, release));
        assert_ne!(fingerprint, Fingerprint::of(&machine(31.2), release));
    }

    #[test]
    fn a_processor_without_a_name_has_numbers() {
        let vendor = Some("0x41".to_owned());
        let processor = Processor { vendor, model: Some(3340), ..Processor::default() };
        let fingerprint = Fingerprint::of(&Machine { processor, ..Machine::default() }, "");
        assert_eq!(fingerprint.cpu, "0x41 3340");
        assert!(fingerprint.cores > 0);
    }

    #[test]
    fn sizes_are_those_that_are_sold_less_what_the_system_keeps() {
        let table = [(0.0, 0), (15_925.0, 16_384), (31_300.0, 32_768), (11_700.0, 12_288)];
        for (mib, expected) in table {
            assert_eq!(usual_size(mib), expected, "{mib}");
        }
        assert_eq!(usual_size(251.0 * 1024.0), 256 * 1024);
        assert_eq!(usual_size(1_900.0), 2048);
    }
}

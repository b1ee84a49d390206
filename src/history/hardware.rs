//! The machine, as coarsely as two results must agree on it to be compared.

use serde::{Deserialize, Serialize};

/// A machine's fingerprint. What changes from boot to boot is not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Hardware {
    /// The processor's model; empty where the system does not say.
    pub cpu: String,
    /// How many processors the system runs.
    pub cores: u64,
    /// The memory in MiB: of 1, 1.5, 2, 3, 4, 6, 8 GiB and so on the nearest,
    /// since systems differ in how much of it they keep for themselves.
    pub memory_mib: u64,
    /// The system: its kind and, where it says so, its distribution and
    /// version.
    pub os: String,
    /// The processor's architecture.
    pub arch: String,
}

impl Hardware {
    /// This machine. What the system does not say stays empty.
    pub fn here() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let kind = std::env::consts::OS;
        Hardware::of(kind, &read("/proc/cpuinfo"), &read("/proc/meminfo"), &read("/etc/os-release"))
    }

    fn of(kind: &str, cpuinfo: &str, meminfo: &str, release: &str) -> Self {
        let listed = field(cpuinfo, "processor", ':').count() as u64;
        let available =
            || std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
        // The second is what Arm has: a part's number, of an implementer's.
        let model = field(cpuinfo, "model name", ':').next().map(str::to_owned).or_else(|| {
            let of = |name| field(cpuinfo, name, ':').next();
            Some(format!("{} {}", of("CPU implementer")?, of("CPU part")?))
        });
        let memory = field(meminfo, "MemTotal", ':').next();
        let memory = memory.and_then(|text| text.strip_suffix(" kB")?.parse::<f64>().ok());
        let unquoted = |name| field(release, name, '=').next().map(|text| text.trim_matches('"'));
        let words = [Some(kind), unquoted("ID"), unquoted("VERSION_ID")];
        Hardware {
            cpu: model.unwrap_or_default(),
            cores: if listed > 0 { listed } else { available() },
            memory_mib: memory.map_or(0, |kib| usual_size(kib / 1024.0)),
            os: words.into_iter().flatten().collect::<Vec<_>>().join(" "),
            arch: std::env::consts::ARCH.to_owned(),
        }
    }
}

/// The values of a field in lines of a name, a separator and a value.
fn field<'a>(text: &'a str, name: &'a str, separator: char) -> impl Iterator<Item = &'a str> {
    let parts = text.lines().filter_map(move |line| line.split_once(separator));
    parts.filter(move |(key, _)| key.trim() == name).map(|(_, value)| value.trim())
}

/// The size that memory is sold in which is nearest by ratio: a power of two,
/// or one and a half of it.
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

    const CPU: &str = "processor\t: 0\nmodel name\t: Some CPU @ 2.00GHz\ncpu MHz\t\t: 1999.9\n\n\
                       processor\t: 1\nmodel name\t: Some CPU @ 2.00GHz\ncpu MHz\t\t: 800.1\n";

    #[test]
    fn model_cores_memory_and_system_count_and_the_clock_does_not() {
        let of = |cpu: &str, memory: &str| {
            Hardware::of("linux", cpu, memory, "ID=debian\nVERSION_ID=\"12\"\nNAME=\"Debian\"\n")
        };
        let found = of(CPU, "MemTotal:       16307524 kB\nMemFree: 1 kB\n");
        assert_eq!((&*found.cpu, found.cores), ("Some CPU @ 2.00GHz", 2));
        assert_eq!((found.memory_mib, &*found.os), (16 * 1024, "linux debian 12"));
        let other_clock = CPU.replace("1999.9", "3100.0");
        assert_eq!(found, of(&other_clock, "MemTotal:       16201000 kB\n"));
        assert_ne!(found, of(CPU, "MemTotal:       32507524 kB\n"));
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

    #[test]
    fn arm_has_a_part_number_for_a_model() {
        let text = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(Hardware::of("linux", text, "", "").cpu, "0x41 0xd0c");
        assert_eq!(Hardware::of("macos", "", "", "").os, "macos");
    }
}

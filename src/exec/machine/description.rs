//! What a machine is, for who reads a result later. What its system files don't
//! tell is left out.

use std::path::Path;

use super::cpuinfo::CpuInfo;

/// What is known of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Description {
    /// The processor, as it calls itself.
    pub processor: Option<String>,
    /// How many threads it runs at once.
    pub threads: u64,
    /// How many cores it has.
    pub cores: Option<u64>,
    /// Its highest frequency, in hertz.
    pub frequency: Option<u64>,
    /// Bytes of the caches: first level for data, for code, second, third.
    pub caches: [Option<u64>; 4],
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// The release of the kernel.
    pub kernel: Option<String>,
    /// The name of the system's distribution.
    pub system: Option<String>,
}

/// Reads what there is of this machine.
pub fn describe() -> Description {
    let cpuinfo = CpuInfo::read(Path::new("/"));
    let meminfo = text("/proc/meminfo").unwrap_or_default();
    let release = text("/etc/os-release").unwrap_or_default();
    let cpu = Path::new("/sys/devices/system/cpu/cpu0");
    let caches = (0..8).filter_map(|number| {
        let index = cpu.join(format!("cache/index{number}"));
        let level = text(index.join("level"))?;
        let kind = text(index.join("type"))?;
        Some((level + &kind, bytes(&text(index.join("size"))?)?))
    });
    let caches: Vec<(String, u64)> = caches.collect();
    let cache = |names: &[&str]| {
        let found = caches.iter().find(|(name, _)| names.contains(&name.as_str()));
        found.map(|(_, size)| *size)
    };
    let kilohertz = text(cpu.join("cpufreq/cpuinfo_max_freq")).and_then(|text| text.parse().ok());
    let names = ["model name", "Model", "cpu model", "uarch"];
    let processor = names.into_iter().find_map(|name| cpuinfo.value_anywhere(name));
    let distribution = field(&release, "PRETTY_NAME").map(|name| name.replace('"', ""));
    Description {
        processor: processor.map(str::to_owned),
        threads: std::thread::available_parallelism().map_or(1, |n| n.get() as u64),
        cores: cpuinfo.value("cpu cores").and_then(|cores| cores.parse().ok()),
        frequency: kilohertz.map(|kilohertz: u64| 1000 * kilohertz),
        caches: [
            cache(&["1Data", "1Unified"]),
            cache(&["1Instruction", "1Unified"]),
            cache(&["2Unified"]),
            cache(&["3Unified"]),
        ],
        memory: field(&meminfo, "MemTotal").and_then(bytes),
        kernel: text("/proc/sys/kernel/osrelease"),
        system: distribution,
    }
}

/// The machine's name in its network.
pub fn host() -> String {
    crate::exec::process::host_name().unwrap_or_else(|| "localhost".to_owned())
}

/// A small file's text, if there is any.
fn text(path: impl AsRef<Path>) -> Option<String> {
    let text = fs_err::read_to_string(path.as_ref()).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The value of the first line `NAME: VALUE` or `NAME=VALUE`.
pub(crate) fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once([':', '='])?;
        (key.trim() == name).then(|| value.trim())
    })
}

/// `32K`, `16384 kB` or `1M` in bytes.
fn bytes(size: &str) -> Option<u64> {
    let digits = size.find(|c: char| !c.is_ascii_digit()).unwrap_or(size.len());
    let (number, unit) = size.split_at(digits);
    let unit = match unit.trim().chars().next() {
        None => 1,
        Some('k' | 'K') => 1024,
        Some('M') => 1024 * 1024,
        Some('G') => 1024 * 1024 * 1024,
        Some(_) => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_fields_are_read_as_the_kernel_writes_them() {
        assert_eq!(bytes("32K"), Some(32768));
        assert_eq!(bytes("16384 kB"), Some(16384 * 1024));
        assert_eq!(bytes("2M"), Some(2 * 1024 * 1024));
        assert_eq!((bytes("7"), bytes("x"), bytes("1 furlong")), (Some(7), None, None));
        let text = "processor\t: 0\nmodel name\t: Some: CPU\nmodel name\t: Other\n";
        assert_eq!(field(text, "model name"), Some("Some: CPU"));
        assert_eq!(field(text, "cores"), None);
    }

    #[test]
    fn a_machine_has_the_name_that_its_kernel_says() {
        let said = text("/proc/sys/kernel/hostname");
        assert!(said.is_none_or(|said| said == host()));
        assert!(!host().is_empty());
    }
}

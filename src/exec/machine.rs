//! Properties of this machine, from `/proc` and `/sys` on Linux. What is
//! unknown (on other systems, or in a container) is `None`.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

use crate::exec::process::host_name;
use crate::exec::process::ticks::Ticks;

/// A block of `name : value` lines for each processor.
const CPU_INFO: &str = "proc/cpuinfo";

/// The properties that matter to measurements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// The processor.
    pub processor: Processor,
    /// The release of the kernel.
    pub kernel: Option<String>,
    /// The name of the distribution.
    pub system: Option<String>,
    /// How many processors are online.
    pub online: Option<u64>,
    /// How many of these this process may use.
    pub allowed: Option<u64>,
    /// The frequency governors of the processors, each name once.
    pub governors: Vec<String>,
    /// Whether the clock may run faster than its nominal rate for a while.
    pub turbo: Option<bool>,
    /// Whether two threads share a core.
    pub smt: Option<bool>,
    /// How far address spaces are randomised: 0 not at all, 2 fully.
    pub randomisation: Option<u64>,
    /// Who may use performance counters: at -1 everybody, at 2 everybody for their
    /// own code in user mode, at 3 or more nobody without the capability.
    pub perf_event_paranoid: Option<i64>,
    /// The source of the monotonic clock, such as `tsc`.
    pub clock_source: Option<String>,
    /// How many processes run or could run, averaged over a minute.
    pub load: Option<f64>,
    /// How the processors have spent their time so far.
    pub(crate) ticks: Option<Ticks>,
    /// Whether it runs on its battery.
    pub on_battery: Option<bool>,
    /// Memory, bytes.
    pub memory: Option<u64>,
    /// The limits of its control groups.
    pub limits: CgroupLimits,
}

/// A processor as it identifies itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Processor {
    /// The name of its model.
    pub name: Option<String>,
    /// Its vendor, such as `GenuineIntel`.
    pub vendor: Option<String>,
    /// The number of its family.
    pub family: Option<u64>,
    /// The number of its model within the family.
    pub model: Option<u64>,
    /// Whether it belongs to a virtual machine.
    pub is_virtual: bool,
}

/// The limits of this process's control group and of all groups above it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CgroupLimits {
    /// The number of processors whose time it may use before it is suspended.
    pub processors: Option<f64>,
    /// Memory, bytes.
    pub memory: Option<u64>,
}

/// The host name of the machine.
pub fn host() -> String {
    Some(host_name()).filter(|name| !name.is_empty()).unwrap_or_else(|| "localhost".to_owned())
}

impl Machine {
    /// Reads the properties below `root`, which is `/` except in tests.
    pub fn read(root: &Path) -> Self {
        let files = SystemFiles(root);
        let cpu = "sys/devices/system/cpu";
        let turbo = files
            .switch(&format!("{cpu}/intel_pstate/no_turbo"))
            .map(|off| !off)
            .or_else(|| files.switch(&format!("{cpu}/cpufreq/boost")));
        let allowed = files.field("proc/self/status", "Cpus_allowed_list");
        Machine {
            processor: processor(&files.text(CPU_INFO).unwrap_or_default()),
            kernel: files.text("proc/sys/kernel/osrelease"),
            system: files.field("etc/os-release", "PRETTY_NAME").map(|name| name.replace('"', "")),
            online: files.text(&format!("{cpu}/online")).and_then(|list| count(&list)),
            allowed: allowed.and_then(|list| count(&list)),
            governors: files.governors(cpu),
            turbo,
            smt: files.switch(&format!("{cpu}/smt/active")),
            randomisation: files.number("proc/sys/kernel/randomize_va_space"),
            perf_event_paranoid: files.number("proc/sys/kernel/perf_event_paranoid"),
            clock_source: files
                .text("sys/devices/system/clocksource/clocksource0/current_clocksource"),
            load: files
                .text("proc/loadavg")
                .and_then(|text| text.split_whitespace().next()?.parse().ok()),
            ticks: files.text("proc/stat").and_then(|text| Ticks::parse(&text)),
            on_battery: files.on_battery(),
            memory: files.field("proc/meminfo", "MemTotal").and_then(|size| bytes(&size)),
            limits: files.limits(),
        }
    }
}

/// The system's files below a root.
struct SystemFiles<'a>(&'a Path);

impl SystemFiles<'_> {
    /// The text of a file, unless it is empty.
    fn text(&self, path: &str) -> Option<String> {
        let text = fs_err::read_to_string(self.0.join(path)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// The text after the first `name` and its colon or equals sign in a file.
    fn field(&self, path: &str, name: &str) -> Option<String> {
        value(&self.text(path)?, name).map(str::to_owned)
    }

    fn number<N: std::str::FromStr>(&self, path: &str) -> Option<N> {
        self.text(path)?.parse().ok()
    }

    /// Whether a file that has 0 or 1 has 1.
    fn switch(&self, path: &str) -> Option<bool> {
        Some(self.number::<u8>(path)? == 1)
    }

    /// The names in a folder.
    fn names(&self, folder: &str) -> impl Iterator<Item = String> {
        let entries = fs_err::read_dir(self.0.join(folder)).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok())
    }

    fn governors(&self, folder: &str) -> Vec<String> {
        let file = |name| self.text(&format!("{folder}/{name}/cpufreq/scaling_governor"));
        let governors: BTreeSet<String> = self.names(folder).filter_map(file).collect();
        governors.into_iter().collect()
    }

    /// Whether the machine runs on a battery and nothing else powers it.
    fn on_battery(&self) -> Option<bool> {
        let folder = "sys/class/power_supply";
        let mut known = None;
        for name in self.names(folder) {
            let file = |file: &str| self.text(&format!("{folder}/{name}/{file}"));
            // The battery of a mouse or a pen.
            if file("scope").as_deref() == Some("Device") {
                continue;
            }
            match file("type").as_deref() {
                Some("Mains" | "USB") if file("online").as_deref() == Some("1") => {
                    return Some(false);
                }
                Some("Battery") => {
                    let discharges = file("status").as_deref() == Some("Discharging");
                    known = Some(known == Some(true) || discharges);
                }
                _ => {}
            }
        }
        known
    }

    /// The smallest limits of this process's group and the groups above it.
    fn limits(&self) -> CgroupLimits {
        let groups = self.text("proc/self/cgroup").unwrap_or_default();
        let own = groups.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or("");
        let mut limits = CgroupLimits::default();
        for group in Path::new(own).ancestors() {
            let file = |name: &str| self.text(&format!("sys/fs/cgroup/{}/{name}", group.display()));
            let processors = file("cpu.max").and_then(|text| {
                let (quota, period) = text.split_once(' ')?;
                Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
            });
            let memory = file("memory.max").and_then(|text| text.parse().ok());
            limits.processors = limits.processors.into_iter().chain(processors).reduce(f64::min);
            limits.memory = limits.memory.into_iter().chain(memory).min();
        }
        limits
    }
}

/// The number of numbers in a list such as `0-3,8`.
fn count(list: &str) -> Option<u64> {
    let size = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: u64 = first.parse().ok()?;
        let last: u64 = last.parse().ok()?;
        Some(last.checked_sub(first)? + 1)
    };
    list.trim().split(',').map(size).sum()
}

/// The bytes of a size such as `16384 kB`.
fn bytes(size: &str) -> Option<u64> {
    size.strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// What follows the first `name` and its colon or equals sign in a text, unless it is empty.
fn value<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let mut fields = text.lines().filter_map(|line| line.split_once([':', '=']));
    let (_, value) = fields.find(|(key, _)| key.trim() == name)?;
    Some(value.trim()).filter(|value| !value.is_empty())
}

/// The first processor; the others are assumed to be alike.
fn processor(info: &str) -> Processor {
    let text = |name: &str| value(info, name).map(str::to_owned);
    let number = |name: &str| value(info, name).and_then(|value| value.parse().ok());
    let flags = value(info, "flags").unwrap_or_default();
    Processor {
        name: text("model name"),
        vendor: text("vendor_id"),
        family: number("cpu family"),
        model: number("model"),
        is_virtual: flags.split(' ').any(|flag| flag == "hypervisor"),
    }
}

/// What a build for this machine's processor (`-C target-cpu=native`) depends on:
/// its architecture, and on Linux its model and instruction sets.
///
/// # Errors
/// If it exists but can't be read.
pub(crate) fn processor_features() -> std::io::Result<String> {
    const NAMES: &str = "vendor_id,cpu family,model,model name,flags,Features,CPU implementer,\
        CPU architecture,CPU variant,CPU part,isa,cpu,uarch";
    let info = match fs_err::read_to_string(Path::new("/").join(CPU_INFO)) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        info => info?,
    };
    let features: Vec<_> = NAMES.split(',').map(|name| value(&info, name)).collect();
    Ok(format!("{}\n{features:?}", std::env::consts::ARCH))
}

/// What a program may depend on besides its files and its environment: the processor's
/// features, and what the system grants this process and thus its children.
pub(crate) fn granted() -> String {
    const OF_PROCESS: &str = "Uid Gid Groups Umask CapEff NoNewPrivs Seccomp THP_enabled \
        Cpus_allowed_list Mems_allowed_list";
    let files = SystemFiles(Path::new("/"));
    let features = processor_features().unwrap_or_default();
    let threads = std::thread::available_parallelism().ok();
    let limits = files.text("proc/self/limits").unwrap_or_default();
    let of_process = OF_PROCESS.split(' ').map(|name| files.field("proc/self/status", name));
    let of_process: Vec<_> = of_process.collect();
    let pages = files.text("sys/kernel/mm/transparent_hugepage/enabled");
    let personality = files.text("proc/self/personality");
    let stat = files.text("proc/self/stat").unwrap_or_default();
    let priority = scheduling(&stat);
    format!(
        "{features}\n{threads:?}\n{limits}\n{of_process:?}\n{pages:?}\n{personality:?}\n{priority:?}"
    )
}

/// How a process with this text in `/proc/PID/stat` is scheduled: its niceness, real-time priority
/// and policy.
fn scheduling(stat: &str) -> [Option<&str>; 3] {
    // Its name may have spaces in it.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    [17, 38, 39].map(|place| fields.split_whitespace().nth(place - 1))
}

/// A text that distinguishes this machine from others: its architecture, the
/// model of its processor and the release of its kernel.
pub(crate) fn identity() -> String {
    let files = SystemFiles(Path::new("/"));
    let processor = files.field(CPU_INFO, "model name").unwrap_or_default();
    let kernel = files.text("proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{}\n{processor}\n{kernel}\n", std::env::consts::ARCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A root with these files.
    fn made(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            crate::exec::system::write(&root.path().join(path), text);
        }
        root
    }

    fn read(files: &[(&str, &str)]) -> Machine {
        Machine::read(made(files).path())
    }

    #[test]
    fn a_process_has_a_niceness_and_a_policy() {
        let numbers: Vec<String> = (4..53).map(|field| field.to_string()).collect();
        let stat = format!("1 (a ) b) S {}", numbers.join(" "));
        assert_eq!(scheduling(&stat), [Some("19"), Some("40"), Some("41")]);
        assert_eq!(scheduling(""), [None; 3]);
    }

    #[test]
    fn a_machine_that_tells_everything() {
        let cpu = "sys/devices/system/cpu";
        let machine = read(&[
            (
                "proc/cpuinfo",
                "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n\
                 model name\t: Some CPU @ 2 GHz\nflags\t\t: fpu hypervisor\n\nprocessor\t: 1\n\
                 vendor_id\t: Other\n",
            ),
            ("proc/sys/kernel/osrelease", "6.1.0\n"),
            ("etc/os-release", "NAME=Some\nPRETTY_NAME=\"Some Linux 12\"\n"),
            ("proc/sys/kernel/randomize_va_space", "2\n"),
            ("proc/sys/kernel/perf_event_paranoid", "-1\n"),
            ("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-1,3\n"),
            ("proc/meminfo", "MemTotal:        2048 kB\n"),
            ("proc/loadavg", "0.52 0.58 0.59 1/257 1234\n"),
            ("proc/stat", "cpu  10 0 20 60 0 0 0 10 5 0\ncpu0 1 2 3\n"),
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/a/b/memory.max", "4096\n"),
            ("sys/fs/cgroup/a/memory.max", "max\n"),
            (&format!("{cpu}/online"), "0-7\n"),
            (&format!("{cpu}/cpu0/cpufreq/scaling_governor"), "powersave\n"),
            (&format!("{cpu}/cpu1/cpufreq/scaling_governor"), "performance\n"),
            (&format!("{cpu}/cpu2/cpufreq/scaling_governor"), "powersave\n"),
            (&format!("{cpu}/intel_pstate/no_turbo"), "0\n"),
            (&format!("{cpu}/smt/active"), "1\n"),
            ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
            ("sys/class/power_supply/AC/type", "Mains\n"),
            ("sys/class/power_supply/AC/online", "0\n"),
            ("sys/class/power_supply/BAT0/type", "Battery\n"),
            ("sys/class/power_supply/BAT0/status", "Discharging\n"),
        ]);
        let expected = Machine {
            processor: Processor {
                name: Some("Some CPU @ 2 GHz".to_owned()),
                vendor: Some("GenuineIntel".to_owned()),
                family: Some(6),
                model: Some(143),
                is_virtual: true,
            },
            kernel: Some("6.1.0".to_owned()),
            system: Some("Some Linux 12".to_owned()),
            online: Some(8),
            allowed: Some(3),
            governors: vec!["performance".to_owned(), "powersave".to_owned()],
            turbo: Some(true),
            smt: Some(true),
            randomisation: Some(2),
            perf_event_paranoid: Some(-1),
            clock_source: Some("tsc".to_owned()),
            load: Some(0.52),
            ticks: Some(Ticks { all: 100, stolen: 10 }),
            on_battery: Some(true),
            memory: Some(2 << 20),
            limits: CgroupLimits { processors: Some(1.5), memory: Some(4096) },
        };
        assert_eq!(machine, expected);
    }

    #[test]
    fn a_machine_that_tells_nothing_or_nonsense() {
        assert_eq!(read(&[]), Machine::default());
        let nonsense = read(&[
            ("proc/cpuinfo", ""),
            ("proc/stat", "intr 5\n"),
            ("proc/loadavg", "\n"),
            ("sys/devices/system/cpu/online", "3-1\n"),
            ("proc/sys/kernel/perf_event_paranoid", "much\n"),
            ("proc/self/cgroup", "12:cpu:/x\n"),
        ]);
        assert_eq!(nonsense, Machine { kernel: None, ..Machine::default() });
    }

    #[test]
    fn sizes_and_fields_are_read_as_the_kernel_writes_them() {
        assert_eq!(bytes("16384 kB"), Some(16384 * 1024));
        assert_eq!(
            (bytes("7"), bytes("x kB"), bytes("18446744073709551615 kB")),
            (None, None, None)
        );
        let text = "processor\t: 0\nmodel name\t: Some: CPU\nmodel name\t: Other\n";
        let root = made(&[("file", text), ("empty", "\n")]);
        let files = SystemFiles(root.path());
        assert_eq!(files.field("file", "model name"), Some("Some: CPU".to_owned()));
        assert_eq!((files.field("file", "cores"), files.text("empty")), (None, None));
    }

    #[test]
    fn power_from_outside_counts_more_than_a_battery_and_a_mouse_not_at_all() {
        let mains = [
            ("sys/class/power_supply/AC/type", "Mains\n"),
            ("sys/class/power_supply/AC/online", "1\n"),
            ("sys/class/power_supply/BAT0/type", "Battery\n"),
            ("sys/class/power_supply/BAT0/status", "Discharging\n"),
        ];
        assert_eq!(read(&mains).on_battery, Some(false));
        let mouse = [
            ("sys/class/power_supply/mouse/type", "Battery\n"),
            ("sys/class/power_supply/mouse/status", "Discharging\n"),
            ("sys/class/power_supply/mouse/scope", "Device\n"),
        ];
        assert_eq!(read(&mouse).on_battery, None);
    }
}

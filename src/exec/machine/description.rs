//! The description of the machine in a recorded result.

use std::path::Path;

use super::cpuinfo::CpuInfo;
use super::{SystemFiles, bytes};

/// What is known of the machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Description {
    /// The name of the processor.
    pub processor: Option<String>,
    /// How many threads it runs at once.
    pub threads: u64,
    /// The size of the memory, bytes.
    pub memory: Option<u64>,
    /// The release of the kernel.
    pub kernel: Option<String>,
    /// The name of the distribution.
    pub system: Option<String>,
}

/// Describes this machine.
pub fn describe() -> Description {
    let files = SystemFiles(Path::new("/"));
    let cpuinfo = CpuInfo::read(Path::new("/"));
    let names = ["model name", "Model", "cpu model", "uarch"];
    let processor = names.into_iter().find_map(|name| cpuinfo.value_anywhere(name));
    let distribution = files.field("etc/os-release", "PRETTY_NAME");
    Description {
        processor: processor.map(str::to_owned),
        threads: std::thread::available_parallelism().map_or(1, |n| n.get() as u64),
        memory: files.field("proc/meminfo", "MemTotal").and_then(|size| bytes(&size)),
        kernel: files.text("proc/sys/kernel/osrelease"),
        system: distribution.map(|name| name.replace('"', "")),
    }
}

/// The host name of the machine.
pub fn host() -> String {
    crate::exec::process::host_name().unwrap_or_else(|| "localhost".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_the_name_that_its_kernel_says() {
        let told = SystemFiles(Path::new("/")).text("proc/sys/kernel/hostname");
        assert!(told.is_none_or(|name| name == host()));
        assert!(!host().is_empty());
    }
}

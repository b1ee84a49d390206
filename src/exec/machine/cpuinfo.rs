//! `/proc/cpuinfo`, which has a block of `name : value` lines for each processor.

use std::path::Path;

/// The text of `/proc/cpuinfo`; empty where there is no such file.
#[derive(Debug, Default)]
pub(super) struct CpuInfo(String);

impl CpuInfo {
    /// Reads the file below `root`, which is `/` except in tests. Empty if it can't
    /// be read.
    pub(super) fn read(root: &Path) -> Self {
        CpuInfo::try_read(root).unwrap_or_default()
    }

    /// Reads the file, and distinguishes one that can't be read now from one that
    /// does not exist.
    ///
    /// # Errors
    /// When the file exists and can't be read.
    pub(super) fn try_read(root: &Path) -> std::io::Result<Self> {
        let text = match fs_err::read_to_string(root.join("proc/cpuinfo")) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            text => text?,
        };
        Ok(CpuInfo(text.trim().to_owned()))
    }

    /// The lines of the first processor, with their names. The other processors are
    /// assumed to be alike.
    fn first(&self) -> impl Iterator<Item = (&str, &str)> {
        let block = self.0.split("\n\n").next().unwrap_or_default();
        block.lines().filter_map(|line| Some((line.split_once(':')?.0.trim(), line)))
    }

    /// The value of this name of the first processor, unless it is empty.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        let (_, line) = self.first().find(|(other, _)| *other == name)?;
        value(line)
    }

    /// The first processor's lines with these names, unchanged.
    pub(super) fn lines(&self, names: &[&str]) -> String {
        let lines = self.first().filter(|(name, _)| names.contains(name));
        lines.map(|(_, line)| line).collect::<Vec<_>>().join("\n")
    }
}

/// What follows the colon, unless it is empty.
fn value(line: &str) -> Option<&str> {
    let (_, value) = line.split_once(':')?;
    Some(value.trim()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_from_the_first_processor() {
        let text = "processor\t: 0\nmodel name\t: Some: CPU\nrevision\t:\n\n\
                    processor\t: 1\nmodel name\t: Other\nstepping\t: 2\n";
        let info = CpuInfo(text.to_owned());
        assert_eq!(info.value("model name"), Some("Some: CPU"));
        assert_eq!((info.value("revision"), info.value("stepping")), (None, None));
        assert_eq!(info.lines(&["model name", "stepping"]), "model name\t: Some: CPU");
        assert_eq!(CpuInfo::default().lines(&["model name"]), "");
    }
}

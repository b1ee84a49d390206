//! What every build depends on but cargo does not track: the compilers and
//! linkers on this machine, its processor, and variables that they read.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::configuration::{Configuration, cargo_home};
use crate::error::Error;
use crate::exec::machine;
use crate::exec::system::{Memo, Stamp, digest, digest_file, stamp};
use crate::workspace::environment::{Environment, untracked, var};

/// Programs that build, or that build scripts and rustc run, without configured paths.
const USUAL: &str = "ar as c++ cargo cc clang clang++ g++ gcc gfortran ld ld.bfd ld.gold ld.lld ld.mold \
    ld64.lld lld llvm-ar mold nasm nvcc pkg-config protoc ranlib strip wild yasm";

/// The parts of a variable's name by which it is recognised to name a program,
/// or flags that may name one.
const NAMING: &str = "AR AS CC CFLAGS CMAKE COMPILER CXX CXXFLAGS LD LDFLAGS LINKER LLVM NASM \
    NVCC PROTOC RANLIB RUSTC RUSTDOC RUSTFLAGS WRAPPER";

/// A fingerprint of what every build in one environment depends on.
#[derive(Debug)]
pub(crate) struct ToolchainFingerprint {
    /// The processor, the variables that compilers read, and cargo's home (the same
    /// whether a variable names it or not).
    text: String,
    /// The folders of the `PATH`.
    search: Vec<PathBuf>,
    /// The usual programs, and those that variables name.
    programs: BTreeSet<PathBuf>,
    /// Where digests of programs are kept from one comparison to the next: compilers and linkers
    /// have a hundred megabytes and seldom change.
    kept: Memo,
    /// Each with what shows that the program is still the same: its length, bytes, and its stamp.
    digests: BTreeMap<PathBuf, ((u64, Stamp), String)>,
}

/// A file that changed less long ago could change again within the same tick of the clock.
const SETTLED: Duration = Duration::from_secs(2);

impl ToolchainFingerprint {
    /// Looks the programs up. Their digests are kept in the file `kept`.
    ///
    /// # Errors
    /// If the system has no information about the processor.
    pub(crate) fn new(env: &Environment, kept: PathBuf) -> Result<Self, Error> {
        let features = machine::processor_features();
        let features = features.map_err(Error::io("read", Path::new("/proc/cpuinfo")))?;
        let text = format!("{features}\n{}\n{:?}\n", untracked(env), cargo_home(env));
        let search = var(env, "PATH").into_iter().flat_map(std::env::split_paths);
        let search: Vec<PathBuf> = search.filter(|folder| folder.is_absolute()).collect();
        let mut programs = BTreeSet::new();
        for name in USUAL.split(' ') {
            // All of that name: the first may be a wrapper of the second.
            programs.extend(search.iter().map(|folder| folder.join(name)).filter(|p| p.is_file()));
        }
        for (_, value) in env.iter().filter(|(name, _)| names_a_program(name)) {
            programs.extend(named(&value.to_string_lossy(), Path::new("/"), &search));
        }
        let kept = Memo::new(kept, "");
        // None where they are damaged or of another version.
        let digests = kept.read().ok().flatten().unwrap_or_default();
        Ok(ToolchainFingerprint { text, search, programs, kept, digests })
    }

    /// A digest of what a build in the folder `side` depends on, except for programs in
    /// that folder, which belong to the commit. `versions` are those of rustc and cargo
    /// there.
    ///
    /// # Errors
    /// If an existing program can't be read.
    pub(crate) fn digest(
        &mut self,
        side: &Path,
        versions: &str,
        configuration: &Configuration,
    ) -> Result<String, Error> {
        let mut programs = self.programs.clone();
        for (base, value) in &configuration.strings {
            programs.extend(named(value, base, &self.search));
        }
        let mut text = format!("{versions}\n{}", self.text);
        let known = self.digests.clone();
        for program in programs.iter().filter(|program| !program.starts_with(side)) {
            text.push_str(&format!("{} {}\n", program.display(), self.digest_of(program)?));
        }
        if self.digests != known {
            // Failures are ignored: it is only a cache.
            let _: std::io::Result<()> = self.kept.write(&self.digests);
        }
        Ok(digest(text.as_bytes()))
    }

    /// The digest of a program; empty if it may not be read.
    fn digest_of(&mut self, program: &Path) -> Result<String, Error> {
        let failed = || Error::io("read", program);
        let about = program.metadata().map_err(failed())?;
        let seen = (about.len(), stamp(&about));
        if let Some((_, digest)) = self.digests.get(program).filter(|(known, _)| *known == seen) {
            return Ok(digest.clone());
        }
        let digest = match digest_file(program) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(String::new()),
            digest => digest.map_err(failed())?,
        };
        let changed = UNIX_EPOCH + Duration::from_secs(seen.1.changed.0.try_into().unwrap_or(0));
        if changed + SETTLED < SystemTime::now() {
            self.digests.insert(program.to_owned(), (seen, digest.clone()));
        }
        Ok(digest)
    }
}

/// Whether a variable is known to name a program: `CC_x86_64-unknown-linux-gnu`,
/// `CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER`.
fn names_a_program(name: &OsStr) -> bool {
    let name = name.to_str().unwrap_or_default();
    name.split(['_', '-']).any(|part| NAMING.split(' ').any(|word| word == part))
}

/// The files that a text of flags names: `clang`, `-Clinker=/opt/bin/ld`,
/// `-fuse-ld=mold`. Paths are relative to `base`; bare words are looked for in
/// the folders `search`.
fn named(text: &str, base: &Path, search: &[PathBuf]) -> Vec<PathBuf> {
    let words = text.split(|c: char| c.is_whitespace() || ['=', ',', '\u{1f}'].contains(&c));
    let mut found = Vec::new();
    for word in words.filter(|word| !word.is_empty()) {
        if word.contains(std::path::is_separator) {
            found.push(base.join(word));
        } else {
            // `-fuse-ld=mold` is `ld.mold` or `mold`.
            let names = [word.to_owned(), format!("ld.{word}")];
            found.extend(names.iter().flat_map(|n| search.iter().map(move |f| f.join(n))));
        }
    }
    found.retain(|path| path.is_file());
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    fn env(pairs: &[(&str, &Path)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    /// The foundation in a scratch folder whose `bin` is the search path.
    fn foundation(folder: &Path, more: &[(&str, &str)], configuration: &Configuration) -> String {
        let mut env = env(&[("PATH", &folder.join("bin"))]);
        env.extend(more.iter().map(|(name, value)| (name.into(), value.into())));
        let side = folder.join("side");
        ToolchainFingerprint::new(&env, folder.join("digests"))
            .unwrap()
            .digest(&side, "rustc 1", configuration)
            .unwrap()
    }

    #[test]
    fn a_compiler_that_is_replaced_in_place_is_another_foundation() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            crate::exec::system::write(&folder.path().join(name), text);
        };
        let mut configuration = Configuration::default();
        configuration.strings.insert((folder.path().to_owned(), "tools/wrap --fast".to_owned()));
        let cc = folder.path().join("opt/gcc");
        let (cc, flags) = (cc.to_str().unwrap(), "-Clinker=linker -Clink-arg=-fuse-ld=fast");
        let vars = [("TARGET_CC", cc), ("RUSTFLAGS", flags), ("EDITOR", "editor")];
        let mut seen = BTreeSet::new();
        let mut is_new = || seen.insert(foundation(folder.path(), &vars, &configuration));
        assert!(is_new() && !is_new());
        for name in ["bin/cc", "bin/cargo", "tools/wrap", "opt/gcc", "bin/linker", "bin/ld.fast"] {
            write(name, "one");
            assert!(is_new(), "{name}");
            write(name, "two");
            assert!(is_new(), "{name}");
        }
        for name in ["bin/editor", "side/opt/gcc", "other"] {
            write(name, "one");
            assert!(!is_new(), "{name}");
        }
    }

    #[test]
    fn stored_digests_count_while_the_program_is_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let (program, kept) = (folder.path().join("cc"), folder.path().join("digests"));
        let old = SystemTime::now() - 2 * SETTLED;
        let write = |text: &str| {
            crate::exec::system::write(&program, text);
            crate::exec::system::set_modified(&program, old).unwrap();
        };
        write("one");
        let fingerprint = || ToolchainFingerprint::new(&[], kept.clone()).unwrap();
        let mut first = fingerprint();
        assert_eq!(first.digest_of(&program).unwrap(), digest(b"one"));
        // It has changed just now.
        assert!(first.digests.is_empty());
        let stamp = stamp(&program.metadata().unwrap());
        first.digests.insert(program.clone(), ((3, stamp), "stored".to_owned()));
        first.kept.write(&first.digests).unwrap();
        assert_eq!(fingerprint().digest_of(&program).unwrap(), "stored");
        // As long and as old, by its times, as it was.
        write("two");
        assert_eq!(fingerprint().digest_of(&program).unwrap(), digest(b"two"));
        let mut damaged = std::fs::read(&kept).unwrap();
        *damaged.last_mut().unwrap() ^= 1;
        std::fs::write(&kept, damaged).unwrap();
        assert!(fingerprint().digests.is_empty());
    }

    #[test]
    fn the_compiler_and_the_variables_that_it_reads_count() {
        let folder = tempfile::tempdir().unwrap();
        let none = Configuration::default();
        let plain = foundation(folder.path(), &[], &none);
        for read in [
            "CFLAGS",
            "LIBRARY_PATH",
            "CARGO_RESOLVER_INCOMPATIBLE_RUST_VERSIONS",
            "CMAKE_PREFIX_PATH",
            "LD_PRELOAD",
            "LIBCLANG_PATH",
        ] {
            assert_ne!(foundation(folder.path(), &[(read, "x")], &none), plain, "{read}");
        }
        let secret = "CARGO_REGISTRIES_OWN_TOKEN";
        for harmless in ["ARCHIVE", "TERM", "CARGO_TERM_COLOR", "CCACHE_DIR", "ASAN", secret] {
            assert_eq!(foundation(folder.path(), &[(harmless, "x")], &none), plain, "{harmless}");
        }
        let other = |rustc: &str| {
            let side = folder.path().join("other");
            ToolchainFingerprint::new(&[], folder.path().join("digests"))
                .unwrap()
                .digest(&side, rustc, &none)
                .unwrap()
        };
        assert_eq!(other("rustc 2"), other("rustc 2"));
        assert_ne!(other("rustc 2"), other("rustc 1"));
    }
}

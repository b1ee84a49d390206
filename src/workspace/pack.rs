//! A pack: a preparation in one file, for machines that have neither the repository nor what
//! builds it.
//!
//! It begins with a line: what it is, the version of this program, and the digest of the rest,
//! which is a compressed archive of the [`Pack`] and of what the runs may need ([`files`]).
//! Programs contain paths of the cache in which they were built, so that their files are put
//! at the same paths again.

mod files;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Component, Path, PathBuf};
use std::time::Instant;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use tar::{Archive, Entries};

use super::cache::{BUCKET, Cache, RepositoryCache};
use super::context::lock_cache;
use super::environment;
use super::prepared::{About, Preparation, Prepared, State};
use super::preview::{Preview, PreviewedBenchmark};
use super::request::Request;
use super::settings::of_table;
use crate::engine::event::{Event, Reporter};
use crate::error::{Error, Failure};
use crate::exec::process::Interrupt;
use crate::exec::program::{LinkedElsewhere, Program};
use crate::exec::system::{Place, digest_of, permissions};
use crate::model::{LearntThreshold, Notice, Pair, ShardBy, Side, Sides};
use crate::settings::options::{self, Benchmark};
use crate::settings::policy::Settings;
use crate::settings::table::{Table, of_pack};

/// How the first line begins.
const MAGIC: &str = "cargo-cbdr pack";

/// The length of a digest, hexadecimal digits.
const DIGEST: usize = 64;

/// The error for a pack that is damaged.
fn damaged(file: &Path) -> Failure {
    Failure::new(format!("`{}` is damaged", file.display()), "copy it again, or pack again")
}

/// The error for a pack with a path that is outside of its folders.
fn outside(file: &Path, path: &Path) -> Failure {
    let (file, path) = (file.display(), path.display());
    let what = format!("`{file}` contains `{path}`, which is outside of its folders");
    Failure::new(what, "`cargo cbdr pack` does not write such a file: do not use it")
}

/// The architecture and the operating system.
fn machine() -> String {
    format!("{} {}", std::env::consts::ARCH, std::env::consts::OS)
}

/// A preparation as it is stored, without the variables of the user's environment.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Pack {
    machine: String,
    /// The repository's part of the cache.
    root: PathBuf,
    #[serde(flatten)]
    pub(crate) about: About,
    /// What [`Sides`] leaves out.
    subjects: Pair<String>,
    repository: String,
    table: Table,
    benchmarks: Vec<PackedBenchmark>,
    pub(crate) notices: Vec<Notice>,
}

#[derive(Debug, Serialize, Deserialize)]
struct PackedBenchmark {
    #[serde(flatten)]
    prepared: Prepared,
    /// What [`Benchmark`] leaves out.
    is_found: bool,
    table: Table,
    learnt: Vec<LearntThreshold>,
}

impl Pack {
    /// The pack of a preparation, which has reported these `notices`.
    pub(crate) fn of(preparation: &Preparation, request: &Request, notices: &[Notice]) -> Self {
        let own = environment::of(request);
        let benchmarks = preparation.benchmarks.iter().map(|prepared| {
            let mut prepared = prepared.clone();
            for program in prepared.state.programs_mut() {
                program.command.env.retain(|variable| !own.contains(variable));
                program.records = None;
                if let Ok(relink) = &mut program.relink {
                    relink.command.env.clear();
                    let why = "it is packed without layouts, since nothing affected it there";
                    let layouts = Err(why.to_owned());
                    relink.linked = Some(LinkedElsewhere { aligned: None, layouts });
                }
            }
            let Benchmark { is_found, table, learnt, .. } = prepared.benchmark.clone();
            PackedBenchmark { prepared, is_found, table, learnt }
        });
        let Sides { base, head, repository, .. } = &preparation.about.sides;
        Pack {
            machine: machine(),
            root: preparation.cache.path().to_owned(),
            about: preparation.about.clone(),
            subjects: Pair { base: base.subject.clone(), head: head.subject.clone() },
            repository: repository.clone(),
            table: preparation.settings.table.clone(),
            benchmarks: benchmarks.collect(),
            notices: notices.to_vec(),
        }
    }

    /// Adds what was linked for a side of the benchmark of this number.
    pub(crate) fn add_linked(&mut self, number: usize, side: Side, linked: LinkedElsewhere) {
        let programs = self.benchmarks[number].prepared.state.programs_mut();
        if let Some(Ok(relink)) = programs.map(|one| &mut one.relink).nth(side as usize) {
            relink.linked = Some(linked);
        }
    }

    /// Where to write a pack.
    ///
    /// # Errors
    /// If no file can be written there.
    pub(crate) fn destination(file: &Path) -> Result<Place, Error> {
        let place = Place::find(file).map_err(Error::io("write", file))?;
        if place.is_stream() {
            let what = format!("`{}` can't be replaced by a pack", file.display());
            return Err(Failure::new(what, "name a regular file").into());
        }
        place.check().map_err(Error::io("write", file))?;
        Ok(place)
    }

    /// Writes it to a file, which is replaced in one step. Returns its length, bytes.
    ///
    /// # Errors
    /// If a file can't be read, or it can't be written.
    pub(crate) fn write(&self, to: &Place, interrupt: &Interrupt) -> Result<u64, Error> {
        let path = to.path();
        let failed = || Error::io("write", path);
        let staged = tempfile::Builder::new()
            .prefix(".cargo-cbdr-")
            .permissions(permissions(0o666))
            .tempfile_in(path.parent().unwrap_or(Path::new("/")))
            .map_err(failed())?;
        let mut file = staged.as_file();
        let line = |digest: &str| format!("{MAGIC} {} {digest}\n", env!("CARGO_PKG_VERSION"));
        let start = line(&"0".repeat(DIGEST));
        file.write_all(start.as_bytes()).map_err(failed())?;
        let compressed = GzEncoder::new(BufWriter::new(file), Compression::fast());
        let about = serde_json::to_vec(self).map_err(io::Error::from).map_err(failed())?;
        let mut archive = files::begin(compressed, &about).map_err(failed())?;
        for folder in self.folders() {
            files::add_folder(&mut archive, &self.root, &folder, interrupt)?;
        }
        let compressed = archive.into_inner().map_err(failed())?;
        let finish = || -> io::Result<u64> {
            compressed.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.seek(io::SeekFrom::Start(start.len() as u64))?;
            let digest = digest_of(&mut BufReader::new(file))?;
            file.rewind()?;
            file.write_all(line(&digest).as_bytes())?;
            to.replace_with(staged.path())?;
            Ok(file.metadata()?.len())
        };
        finish().map_err(failed())
    }

    /// The folders and links below the root that the runs may need.
    fn folders(&self) -> BTreeSet<PathBuf> {
        let mut folders = BTreeSet::new();
        for Program { executable, home, comparisons, .. } in self.programs() {
            let inside = home.strip_prefix(&self.root).unwrap_or(home);
            folders.extend(files::OF_SIDE.map(|folder| inside.join(folder)));
            let link = executable.as_ref().and_then(|path| path.strip_prefix(home).ok());
            folders.extend(link.and_then(|path| Some(inside.join(path.iter().next()?))));
            let artifact = comparisons.as_ref().and_then(|path| path.parent()).into_iter();
            let inside = artifact.filter_map(|path| path.strip_prefix(&self.root).ok());
            folders.extend(inside.flat_map(|path| files::OF_ARTIFACT.map(|name| path.join(name))));
        }
        folders
    }

    fn programs(&self) -> impl Iterator<Item = &Program> {
        self.benchmarks.iter().flat_map(|one| one.prepared.state.programs())
    }

    /// Puts the content of a pack where its programs expect it, and returns the preparation.
    ///
    /// # Errors
    /// If it is no intact pack of this version and this kind of machine, or its place can't be
    /// created.
    pub(crate) fn unpack(
        file: &Path,
        request: &Request,
        interrupt: &Interrupt,
        reporter: &mut dyn Reporter,
    ) -> Result<Preparation, Error> {
        let start = Instant::now();
        let mut archive = Archive::new(GzDecoder::new(open(file)?));
        let mut entries = archive.entries().map_err(|error| damaged(file).caused_by(error))?;
        let pack = Pack::read(file, &mut entries)?;
        let cache = pack.place()?;
        let purpose = format!("measuring {}", file.display());
        let (lock, scratch) = lock_cache(&cache, &purpose, interrupt, reporter)?;
        // Of whichever comparison was here before.
        cache.remove_worktrees()?;
        files::unpack(file, entries, cache.path(), interrupt)?;
        reporter.event(Event::Sides(&pack.about.sides));
        pack.notices.into_iter().for_each(|notice| reporter.notice(notice));
        let own = environment::of(request);
        let (benchmarks, settings) = prepared(pack.benchmarks, pack.table, request, &own)?;
        reporter
            .event(Event::Prepared { seconds: start.elapsed().as_secs_f64(), cache: cache.path() });
        let (about, _lock) = (pack.about, Some(lock));
        let unbuilt = Vec::new();
        Ok(Preparation { about, settings, benchmarks, unbuilt, cache, scratch, _lock })
    }

    /// Reads what the files of a pack are.
    fn read(file: &Path, entries: &mut Entries<'_, impl Read>) -> Result<Self, Error> {
        let pack = files::first(entries).and_then(|about| Ok(serde_json::from_slice(&about)?));
        let mut pack: Pack = pack.map_err(|error| damaged(file).caused_by(error))?;
        let sides = &mut pack.about.sides;
        sides.repository.clone_from(&pack.repository);
        Pair { base: sides.base.subject, head: sides.head.subject } = pack.subjects.clone();
        if pack.machine != machine() {
            let (file, packed, here) = (file.display(), pack.machine, machine());
            let what = format!("`{file}` was packed on {packed}, but this machine is {here}");
            return Err(Failure::new(what, "pack on a machine of the same kind").into());
        }
        pack.check(file)?;
        Ok(pack)
    }

    /// What measuring a pack would do.
    ///
    /// # Errors
    /// If it is no intact pack of this version and this kind of machine.
    pub(crate) fn preview(file: &Path, request: &Request) -> Result<Preview, Error> {
        let mut archive = Archive::new(GzDecoder::new(open(file)?));
        let entries = archive.entries().map_err(|error| damaged(file).caused_by(error));
        let pack = Pack::read(file, &mut entries?)?;
        let (benchmarks, settings) = prepared(pack.benchmarks, pack.table, request, &[])?;
        let previewed = |one: &Prepared| {
            let is_new = matches!(one.state, State::NoBaseline);
            let is_new = is_new.then(|| "it is not on the base".to_owned());
            let of = PreviewedBenchmark::new(&one.benchmark, Pair::default(), is_new);
            PreviewedBenchmark { settings: of_pack(of.settings), ..of }
        };
        let by_benchmarks = settings.policy.shard_by == ShardBy::Benchmarks;
        let About { sides, toolchain, removed, costs, .. } = pack.about;
        let preview = Preview::new(sides, &settings, request.policy_from);
        Ok(Preview {
            toolchain,
            target: Some(pack.machine),
            folder: Some(pack.root),
            benchmarks: benchmarks.iter().map(previewed).collect(),
            removed,
            costs: by_benchmarks.then_some(costs),
            notices: pack.notices,
            settings: of_pack(preview.settings),
            ..preview
        })
    }

    /// Checks that its paths are below its root.
    fn check(&self, file: &Path) -> Result<(), Failure> {
        let is_normal = |part: Component<'_>| matches!(part, Component::Normal(_));
        let mut parts = self.root.components();
        let is_plain = parts.next() == Some(Component::RootDir) && parts.all(is_normal);
        if !is_plain || !self.root.parent().is_some_and(|parent| parent.ends_with(BUCKET)) {
            return Err(outside(file, &self.root));
        }
        for program in self.programs() {
            let Program { command, executable, home, comparisons, relink, .. } = program;
            let linked = relink.iter().filter_map(|relink| relink.linked.as_ref());
            let linked = linked.flat_map(|linked| {
                let aligned = linked.aligned.iter().map(|(path, _)| path);
                aligned.chain(linked.layouts.iter().flatten())
            });
            let paths = [&command.cwd, home].into_iter().chain(executable).chain(comparisons);
            for path in paths.chain(linked) {
                let inside = path.strip_prefix(&self.root);
                if !inside.is_ok_and(|inside| inside.components().all(is_normal)) {
                    return Err(outside(file, path));
                }
            }
        }
        Ok(())
    }

    /// The folder of its root, created if need be.
    fn place(&self) -> Result<RepositoryCache, Error> {
        let failed = || {
            let mut named = self.programs().flat_map(|program| &program.command.env);
            let root = self.root.as_os_str().as_encoded_bytes();
            let names = |value: &OsString| {
                value.as_encoded_bytes().windows(root.len()).any(|part| part == root)
            };
            let variable = named.find(|(_, value)| names(value));
            let what = variable.map_or("can't be created".to_owned(), |(name, _)| {
                format!("`{}` of its programs names and which can't be created", name.display())
            });
            let what =
                format!("the pack has to be at `{}` here, which {what}", self.root.display());
            let step = "let it be created here, or set CBDR_CACHE_DIR for `cargo cbdr pack` to a \
                folder that can be created on all machines";
            Failure::new(what, step)
        };
        let place = self.root.ancestors().nth(2).map(Path::to_owned);
        let name = self.root.file_name().unwrap_or_default();
        match Cache::open(place).and_then(|cache| cache.part(name, self.repository.as_ref())) {
            Ok(part) if part.path() == self.root => Ok(part),
            // A link on the way leads elsewhere.
            Ok(_) => Err(failed().into()),
            Err(error) => Err(failed().caused_by(error).into()),
        }
    }
}

/// The benchmarks of a pack as they are run with the flags of a request, and their settings.
fn prepared(
    packed: Vec<PackedBenchmark>,
    table: Table,
    request: &Request,
    own: &[(OsString, OsString)],
) -> Result<(Vec<Prepared>, Settings), Error> {
    let prepared = packed.into_iter().map(|one| one.prepared(request, own));
    let prepared = prepared.collect::<Result<Vec<Prepared>, Error>>()?;
    let table = match prepared.first() {
        Some(first) => first.benchmark.table.clone(),
        None => request.flags.clone().over(table),
    };
    let all = prepared.iter().map(|one| one.benchmark.clone()).collect();
    let settings = of_table(request, table, all)?;
    Ok((prepared, settings))
}

impl PackedBenchmark {
    /// The benchmark as it is run with the flags of a request.
    fn prepared(self, request: &Request, own: &[(OsString, OsString)]) -> Result<Prepared, Error> {
        let PackedBenchmark { mut prepared, is_found, table, learnt } = self;
        for program in prepared.state.programs_mut() {
            let packed = std::mem::replace(&mut program.command.env, own.to_vec());
            for (name, value) in packed {
                program.command.env.retain(|(known, _)| *known != name);
                program.command.env.push((name, value));
            }
        }
        let table = request.flags.clone().over(table);
        let Benchmark { name, package, subject, .. } = prepared.benchmark;
        let benchmark = options::with_settings(name, package, subject, &table)?;
        Ok(Prepared { benchmark: Benchmark { is_found, learnt, ..benchmark }, ..prepared })
    }
}

/// Opens a pack behind its first line.
///
/// # Errors
/// If it is not an intact one of this version.
fn open(path: &Path) -> Result<BufReader<File>, Error> {
    let failed = || Error::io("read", path);
    let mut file = BufReader::new(File::open(path).map_err(failed())?);
    let mut line = Vec::new();
    let most = (MAGIC.len() + 2 * DIGEST) as u64;
    file.by_ref().take(most).read_until(b'\n', &mut line).map_err(failed())?;
    let line = String::from_utf8_lossy(&line).into_owned();
    let words = line.strip_prefix(MAGIC).and_then(|rest| rest.trim().split_once(' '));
    let Some((version, digest)) = words else {
        let what = format!("`{}` is not a pack", path.display());
        return Err(Failure::new(what, "`cargo cbdr pack FILE` writes one").into());
    };
    if version != env!("CARGO_PKG_VERSION") {
        let (path, own) = (path.display(), env!("CARGO_PKG_VERSION"));
        let what = format!("`{path}` was packed by cargo-cbdr {version}, but this is {own}");
        return Err(Failure::new(what, "use one version on all machines").into());
    }
    if digest_of(&mut file).map_err(failed())? != digest {
        return Err(damaged(path).into());
    }
    file.seek(io::SeekFrom::Start(line.len() as u64)).map_err(failed())?;
    Ok(file)
}

//! A way in which a benchmark becomes slower.

use super::{code, files, inputs, lengths, native, order};

/// What the answer of a comparison depends on there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Code and data of Rust, as compilers and linkers usually arrange them.
    Code,
    /// Code of C and of assemblers, which call without relocations.
    Native,
    /// The order in which things are linked.
    Order,
    /// What the program's own settings make a run read or start.
    Inputs,
    /// What a run opens, under whichever name.
    Files,
    /// How long a run is.
    Length,
    /// The branch's settings of how a program is run.
    Gate,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 7] = [
        Kind::Code,
        Kind::Native,
        Kind::Order,
        Kind::Inputs,
        Kind::Files,
        Kind::Length,
        Kind::Gate,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Code => "code",
            Kind::Native => "native",
            Kind::Order => "order",
            Kind::Inputs => "inputs",
            Kind::Files => "files",
            Kind::Length => "length",
            Kind::Gate => "gate",
        }
    }
}

/// What the change may make a right program measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The benchmark alone.
    Benchmark,
    /// All benchmarks, so that it hides mistakes about the others.
    Program,
}

/// One way. Its name is that of the benchmark, too.
#[derive(Debug)]
pub struct Mechanism {
    /// The name.
    pub name: &'static str,
    /// The kind.
    pub kind: Kind,
    /// The reach.
    pub reach: Reach,
    /// What a repository has of it.
    pub parts: &'static [Part],
    /// The words of a notice that says what the numbers can't.
    pub said: &'static [&'static str],
}

/// A part of a repository, as text in which
///
/// - `«quick¦slow»` stands for one of both,
/// - `ROUNDS` for how much a benchmark has to do,
/// - `NAME` for the name of the mechanism.
///
/// Code has `spin`, which works for a number of rounds, and defines `run`, which is measured.
#[derive(Debug)]
pub enum Part {
    /// A module of whichever crate.
    Code(&'static str),
    /// A module of the library, whose build script and whose crates it may use.
    Lib(&'static str),
    /// A module of the bench target.
    Bench(&'static str),
    /// Items at the root of the library.
    Root(&'static str),
    /// A crate, by its name: a library of the workspace that the library depends on.
    Crate(&'static str, &'static str),
    /// The same as a dynamic library, too.
    Dynamic(&'static str, &'static str),
    /// Statements of the build script.
    Build(&'static str),
    /// A file, by its path.
    File(&'static str, &'static str),
    /// A file that is executable.
    Script(&'static str, &'static str),
    /// A file of `ROUNDS` bytes.
    Data(&'static str),
    /// A symbolic link, and where it leads.
    Link(&'static str, &'static str),
    /// A submodule with a file `data` of `ROUNDS` bytes.
    Submodule(&'static str),
    /// A line of `.gitignore`.
    Ignore(&'static str),
    /// A line of the table of the settings.
    Table(&'static str),
    /// A line for the bench target.
    Target(&'static str),
    /// A line for the package.
    Package(&'static str),
    /// A line of the profile.
    Profile(&'static str),
    /// The end of the manifest.
    Manifest(&'static str),
    /// The configuration of cargo.
    Config(&'static str),
    /// The version of the package.
    Version(&'static str),
}

impl Mechanism {
    /// One that touches its benchmark alone.
    pub const fn new(name: &'static str, kind: Kind, parts: &'static [Part]) -> Self {
        Mechanism { name, kind, reach: Reach::Benchmark, parts, said: &[] }
    }

    /// One that may touch all benchmarks.
    pub const fn wide(name: &'static str, kind: Kind, parts: &'static [Part]) -> Self {
        Mechanism { reach: Reach::Program, ..Mechanism::new(name, kind, parts) }
    }

    /// The same, if a notice with such a word is enough.
    pub const fn unless_said(self, said: &'static [&'static str]) -> Self {
        Mechanism { said, ..self }
    }

    /// Whether both can be in one program.
    pub fn goes_with(&self, other: &Mechanism) -> bool {
        let first = |text: &'static str| text.split([' ', '\n']).next().unwrap_or_default();
        // What a repository has once.
        let places = |part: &Part| match part {
            Part::Table(text) | Part::Manifest(text) => vec![first(text)],
            Part::Config(_) => vec!["configuration"],
            Part::Version(_) => vec!["version"],
            Part::Target(_) => vec!["target"],
            _ => Vec::new(),
        };
        let all = |of: &Mechanism| of.parts.iter().flat_map(places).collect::<Vec<_>>();
        let mine = all(self);
        !all(other).iter().any(|place| mine.contains(place))
    }
}

/// All of them, kind by kind.
pub fn all() -> Vec<&'static Mechanism> {
    let tables: [&'static [Mechanism]; 6] =
        [code::TABLE, native::TABLE, order::TABLE, inputs::TABLE, files::TABLE, lengths::TABLE];
    tables.into_iter().flatten().collect()
}

//! A program of several mechanisms, some of which became slower.

use super::mechanism::{Kind, Mechanism, Part, Reach, all};

/// Numbers from a seed (SplitMix64, Steele et al. 2014).
pub struct Random(u64);

impl Random {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// One below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }

    /// Whether something happens in so many of a hundred cases.
    fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn shuffle<T>(&mut self, all: &mut [T]) {
        for last in (1..all.len()).rev() {
            all.swap(last, self.below(last + 1));
        }
    }
}

/// What else differs, and makes nothing slower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    /// A function of the library that no benchmark calls.
    Idle,
    /// The same in the bench target.
    IdleInBench,
    /// A function is new.
    Function,
    /// A comment moves all lines.
    Comment,
    /// A file that nothing reads.
    File,
    /// The version of the package, and with it the hashes of all names.
    Version,
}

/// The crate that a benchmark's code is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The library of the package.
    Library,
    /// The bench target itself.
    Bench,
    /// A crate that the library depends on.
    Dependency,
}

/// A benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// How it can become slower.
    pub mechanism: &'static Mechanism,
    /// Whether it did.
    pub is_slower: bool,
    /// Where its code is.
    pub place: Place,
}

/// A program.
#[derive(Debug)]
pub struct Case {
    /// The seed of the series, and the number in it.
    pub seed: (u64, u64),
    /// The benchmarks, in their order.
    pub members: Vec<Member>,
    /// What else differs.
    pub edits: Vec<Edit>,
    /// The lines of the profile.
    pub profile: Vec<&'static str>,
    /// Whether a run accepts how long it is to measure.
    pub is_timed: bool,
    /// The folder of the package in the repository: empty, or with a slash at its end.
    pub folder: &'static str,
    /// Whether a commit without a slower benchmark is compared before.
    pub is_warm: bool,
    /// Whether few pairs are measured: they show which benchmarks are measured at all.
    pub is_brief: bool,
    /// For how long a comparison samples: longer ones have longer runs.
    pub time_limit: &'static str,
}

/// Lines of the profile, of which each has one.
const PROFILES: [&[&str]; 4] = [
    &["opt-level = 1", "opt-level = 1", "opt-level = 2", "opt-level = 3", "opt-level = \"s\""],
    &["debug = 0", "debug = 0", "debug = 1", "debug = 2"],
    &[
        "lto = false",
        "lto = false",
        "lto = false",
        "lto = false",
        "lto = \"off\"",
        "lto = \"thin\"",
    ],
    &["codegen-units = 16", "codegen-units = 16", "codegen-units = 1"],
];

const EDITS: [Edit; 6] =
    [Edit::Idle, Edit::IdleInBench, Edit::Function, Edit::Comment, Edit::File, Edit::Version];

impl Case {
    /// The case of this number: its first mechanism is the next of all of them, in an order
    /// from the seed, and one in six is slower nowhere.
    pub fn draw(seed: u64, number: u64, chosen: &[&'static Mechanism]) -> Case {
        let mut order = chosen.to_vec();
        let rounds = number / order.len() as u64;
        Random::new(seed ^ rounds << 32).shuffle(&mut order);
        let first = order[(number % order.len() as u64) as usize];
        let mut random = Random::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ number);
        let slower = match random.below(6) {
            0 => 0,
            1 if first.reach == Reach::Benchmark => 2,
            _ => 1,
        };
        let mut members = vec![first];
        let mut others = all();
        random.shuffle(&mut others);
        let count = 3 + random.below(4);
        for other in others {
            let is_new = members.iter().all(|one| one.name != other.name && one.goes_with(other));
            // What is wide hides what the others are answered.
            let is_quiet = other.kind != Kind::Gate
                && (other.reach == Reach::Benchmark || members.len() >= slower);
            if members.len() < count && is_new && is_quiet {
                members.push(other);
            }
        }
        let mut case = Case::of(&members, slower, &mut random);
        case.seed = (seed, number);
        case
    }

    /// A program of these, of which the first `slower` became slower.
    pub fn of(members: &[&'static Mechanism], slower: usize, random: &mut Random) -> Case {
        let is_timed = members.iter().any(|one| one.kind == Kind::Length) || random.percent(15);
        let places = [Place::Library, Place::Library, Place::Bench, Place::Dependency];
        let member = |(at, mechanism): (usize, &&'static Mechanism)| Member {
            mechanism,
            is_slower: at < slower,
            place: match mechanism.parts.iter().any(|part| matches!(part, Part::Code(_))) {
                true => random.pick(&places),
                false => Place::Library,
            },
        };
        let mut members: Vec<Member> = members.iter().enumerate().map(member).collect();
        random.shuffle(&mut members);
        let edits = EDITS.into_iter().filter(|edit| {
            random.percent(match edit {
                Edit::Idle => 60,
                Edit::Version => 10,
                _ => 20,
            })
        });
        let edits = edits.collect();
        let profile = PROFILES.map(|lines| random.pick(lines)).to_vec();
        let folder = if random.percent(20) { "some/inner/" } else { "" };
        let is_warm = random.percent(30);
        let (is_brief, time_limit) = (false, "--time-limit 60s");
        let seed = (0, 0);
        Case { seed, members, edits, profile, is_timed, folder, is_warm, is_brief, time_limit }
    }

    /// Programs in which up to `size` of these mechanisms became slower at once. That takes less
    /// time than a program for each, and shows less: whatever makes a comparison measure one of
    /// them may make it measure all. Those that touch all benchmarks have programs of their own.
    pub fn bundles(seed: u64, size: usize, mechanisms: &[&'static Mechanism]) -> Vec<Case> {
        let mut random = Random::new(seed);
        let mut order = mechanisms.to_vec();
        random.shuffle(&mut order);
        let mut bundles: Vec<Vec<&'static Mechanism>> = Vec::new();
        for mechanism in order {
            let goes_with = |one: &&'static Mechanism| {
                let is_narrow = [*one, mechanism].iter().all(|one| one.reach == Reach::Benchmark);
                let is_as_long = (one.kind == Kind::Length) == (mechanism.kind == Kind::Length);
                is_narrow && is_as_long && one.goes_with(mechanism)
            };
            let fits = |bundle: &&mut Vec<_>| bundle.len() < size && bundle.iter().all(goes_with);
            match bundles.iter_mut().find(fits) {
                Some(bundle) => bundle.push(mechanism),
                None => bundles.push(vec![mechanism]),
            }
        }
        let case = |(number, bundle): (usize, Vec<&'static Mechanism>)| {
            let mut case = Case::of(&bundle, bundle.len(), &mut random);
            case.seed = (seed, number as u64);
            case.profile = vec!["opt-level = 1", "codegen-units = 1"];
            case.edits = if number % 2 == 0 { vec![Edit::Idle] } else { Vec::new() };
            case.is_timed = bundle[0].kind == Kind::Length;
            case.is_warm = false;
            case
        };
        bundles.into_iter().enumerate().map(case).collect()
    }

    /// Those that became slower.
    pub fn slower(&self) -> impl Iterator<Item = &'static Mechanism> {
        self.members.iter().filter(|one| one.is_slower).map(|one| one.mechanism)
    }

    /// Whether a right program may leave out all benchmarks that did not become slower.
    pub fn is_narrow(&self) -> bool {
        self.slower().all(|one| one.reach == Reach::Benchmark)
            && !self.edits.contains(&Edit::Version)
    }

    /// What it is made of, in a line.
    pub fn about(&self) -> String {
        let names = |is_slower: bool| {
            let some = self.members.iter().filter(move |one| one.is_slower == is_slower);
            some.map(|one| format!("{} ({:?})", one.mechanism.name, one.place)).collect::<Vec<_>>()
        };
        let mut about = format!("case {} of seed {}: ", self.seed.1, self.seed.0);
        about += &match names(true) {
            slower if slower.is_empty() => "nothing is slower".to_owned(),
            slower => format!("slower by {}", slower.join(", ")),
        };
        about += &format!(
            "; beside {}; edits {:?}; {}",
            names(false).join(", "),
            self.edits,
            self.profile.join(", ")
        );
        for (is_so, what) in [
            (self.is_timed, "takes a time"),
            (self.is_warm, "compared before"),
            (!self.folder.is_empty(), "in a folder"),
        ] {
            if is_so {
                about += "; ";
                about += what;
            }
        }
        about
    }
}

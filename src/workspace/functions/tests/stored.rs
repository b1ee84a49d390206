//! Comparisons that are stored, and what of them still counts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{LIBRARY, rustc};
use crate::exec::process::Command;
use crate::exec::program::{OrderingLinker, Program, Relink, RelinkInput};
use crate::exec::system::{LINKS_AS_GNU, digest_file, write};
use crate::model::side::{Pair, Side};
use crate::workspace::functions::{FunctionPlaces, SOURCES, changed as changed_names, places};
use crate::workspace::identical::Moves;

/// A program that uses the library.
const MAIN: &str = r#"
fn main() {
    let x = std::env::args().count() as u64;
    std::process::exit((library::other(x) ^ library::panics(&[x, x], x as usize)) as i32);
}
"#;

/// A program with that library, as it is linked from what lies in a folder.
fn linked(folder: &Path, library: &str, main: &str) -> Program {
    std::fs::create_dir_all(folder).unwrap();
    rustc(folder, "library", library, &["-Ccodegen-units=1"]);
    write(&folder.join("main.rs"), main);
    let mut rustc = std::process::Command::new("rustc");
    rustc.current_dir(folder).args(["-O", "--edition=2021", "main.rs"]);
    assert!(rustc.arg("--extern=library=liblibrary.rlib").status().unwrap().success());
    let (path, executable) = (folder.join("liblibrary.rlib"), folder.join("main"));
    let bytes = path.metadata().unwrap().len();
    let sha256 = Some(digest_file(&path).unwrap());
    let argv = vec!["cc".into(), path.clone().into()];
    let inputs = vec![RelinkInput { path, bytes, sha256 }];
    let command = Command { argv, ..Command::default() };
    Program {
        command: Command::default(),
        executable_sha256: Some(digest_file(&executable).unwrap()),
        executable: Some(executable),
        relink: Ok(Relink {
            command,
            linker: Some(OrderingLinker::Lld),
            prefix: "-Wl,".to_owned(),
            linked: None,
            inputs,
            heap: None,
        }),
        identity: String::new(),
        home: folder.to_owned(),
        records: None,
        comparisons: Some(folder.join("compared")),
    }
}

/// Two programs, of which the head's lines are one further down and one function differs.
struct Linked {
    folder: tempfile::TempDir,
    programs: Pair<Program>,
}

impl Linked {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let head = format!("\n{}", LIBRARY.replace("x.wrapping_mul(7)", "x.wrapping_mul(9)"));
        let programs = Pair {
            base: linked(&folder.path().join("base"), LIBRARY, MAIN),
            head: linked(&folder.path().join("head"), &head, MAIN),
        };
        Linked { folder, programs }
    }

    /// The files of comparisons.
    fn stored(&self) -> Vec<PathBuf> {
        let folder = std::fs::read_dir(self.folder.path().join("head/compared"));
        let mut all: Vec<_> =
            folder.into_iter().flatten().map(|file| file.unwrap().path()).collect();
        all.sort();
        all
    }

    /// Hides what the programs were linked from, or lays it back.
    fn hide(&self, hides: bool) {
        for side in Side::BOTH {
            let at = |name: &str| self.folder.path().join(side.name()).join(name);
            let (path, hidden) = (at("liblibrary.rlib"), at("hidden"));
            let (from, to) = if hides { (path, hidden) } else { (hidden, path) };
            std::fs::rename(from, to).unwrap();
        }
    }

    /// The same comparison where nothing is stored.
    fn fresh(&self, moves: &Moves) -> Result<Pair<FunctionPlaces>, String> {
        let programs =
            self.programs.as_ref().map(|program| Program { comparisons: None, ..program.clone() });
        places(&programs, moves)
    }
}

/// Line moves by so many lines.
fn moved_by(lines: u32) -> Moves {
    Moves::of_lines("", "library.rs", (1..50).map(|line| (line, line + lines)).collect())
}

fn names(places: &Pair<FunctionPlaces>) -> BTreeSet<&str> {
    let all = Side::BOTH.into_iter().flat_map(|side| places[side].changed.values());
    all.map(String::as_str).collect()
}

#[test]
fn an_edit_of_what_compares_forgets_what_was_compared() {
    let others = ["alignment.rs", "labelled.rs", "tests.rs", "tests"];
    for room in ["functions", "identical"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/workspace").join(room);
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        for file in files.filter(|file| !others.iter().any(|other| file.ends_with(other))) {
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(SOURCES.contains(&text), "`SOURCES` lacks {}", file.display());
        }
    }
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "objects are read on x86-64 alone")]
#[test]
fn a_stored_comparison_counts_while_all_that_it_depends_on_is_the_same() {
    if !LINKS_AS_GNU {
        return;
    }
    let linked = Linked::new();
    let moves = moved_by(1);
    let first = linked.fresh(&moves).unwrap();
    assert_eq!(names(&first), BTreeSet::from(["library::plain"]));
    assert_eq!(linked.stored(), [""; 0].map(PathBuf::from));
    assert_eq!(places(&linked.programs, &moves).as_ref(), Ok(&first));
    let listed = changed_names(&linked.programs).unwrap();
    let stored = linked.stored();
    assert_eq!(stored.len(), 2, "{stored:?}");
    // What is stored needs no object file, and is what these would tell.
    linked.hide(true);
    assert_eq!(places(&linked.programs, &moves).as_ref(), Ok(&first));
    assert_eq!(changed_names(&linked.programs).as_ref(), Ok(&listed));
    // With anything else, they are read again, which fails.
    let is_read = |programs: &Pair<Program>, moves: &Moves, about: &str| {
        let error = places(programs, moves).expect_err(about);
        assert!(error.starts_with("could not read"), "{about}: {error}");
    };
    is_read(&linked.programs, &moved_by(2), "a moved line");
    let elsewhere =
        Moves::of_lines("in", "library.rs", (1..50).map(|line| (line, line + 1)).collect());
    is_read(&linked.programs, &elsewhere, "another workspace");
    type Change = fn(&mut Program);
    let changes: [(&str, Change); 5] = [
        ("an executable", |program| program.executable_sha256 = Some("0".to_owned())),
        ("a folder", |program| program.home.push("x")),
        ("an object file", |program| {
            program.relink.as_mut().unwrap().inputs[0].sha256 = Some("0".to_owned());
        }),
        ("the name of a crate", |program| {
            let relink = program.relink.as_mut().unwrap();
            relink.inputs[0].path.set_file_name("libother.rlib");
            relink.command.argv[1] = relink.inputs[0].path.clone().into();
        }),
        ("the length of a file", |program| {
            program.relink.as_mut().unwrap().inputs[0].bytes += 1;
        }),
    ];
    for (about, change) in changes {
        for side in Side::BOTH {
            let mut programs = linked.programs.clone();
            change(&mut programs[side]);
            is_read(&programs, &moves, &format!("{about} of the {side}"));
        }
    }
    // An argument that both calls have.
    let mut programs = linked.programs.clone();
    for side in Side::BOTH {
        programs[side].relink.as_mut().unwrap().command.argv.push("-Wl,-z,now".into());
    }
    is_read(&programs, &moves, "an argument");
    // The other way round, also where that is stored at the same place.
    let Pair { base, head } = linked.programs.clone();
    let mut turned = Pair { base: head, head: base };
    turned.head.comparisons.clone_from(&turned.base.comparisons);
    turned.head.executable.clone_from(&turned.base.executable);
    is_read(&turned, &moves, "the sides exchanged");
    assert_eq!(places(&linked.programs, &moves).as_ref(), Ok(&first));
    linked.hide(false);
    assert_eq!(linked.stored(), stored);
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "objects are read on x86-64 alone")]
#[test]
fn a_library_that_only_names_other_files_is_not_known_to_be_the_same() {
    if !LINKS_AS_GNU {
        return;
    }
    let linked = Linked::new();
    for (name, content, is_known) in [
        ("libnone.a", "!<arch>\n", true),
        ("libthin.a", "!<thin>\n", false),
        ("libscript.so", "INPUT(other.o)", false),
        ("list", "{ main; };", true),
    ] {
        let mut programs = linked.programs.clone();
        for side in Side::BOTH {
            let path = programs[side].home.join(name);
            write(&path, content);
            let sha256 = Some(digest_file(&path).unwrap());
            let input = RelinkInput { path, bytes: content.len() as u64, sha256 };
            programs[side].relink.as_mut().unwrap().inputs.push(input);
        }
        let places = places(&programs, &moved_by(1));
        assert_eq!(places.is_ok(), is_known, "{name}: {:?}", places.err());
    }
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "objects are read on x86-64 alone")]
#[test]
fn what_changed_is_compared_afresh_and_replaces_what_was_stored() {
    if !LINKS_AS_GNU {
        return;
    }
    let mut linked = Linked::new();
    let first = places(&linked.programs, &moved_by(1)).unwrap();
    let check = |linked: &Linked, moves: &Moves, about: &str| {
        let fresh = linked.fresh(moves);
        for _ in 0..2 {
            assert_eq!(places(&linked.programs, moves), fresh, "{about}");
        }
        assert_eq!(linked.stored().len(), 1, "{about}");
        fresh.unwrap()
    };
    let still = check(&linked, &moved_by(0), "lines that did not move");
    assert_eq!(names(&still), BTreeSet::from(["library::plain", "library::panics"]));
    let folder = linked.folder.path().join("head");
    let edited = format!("\n{}", LIBRARY.replace("wrapping_add(11)", "wrapping_add(12)"));
    linked.programs.head = self::linked(&folder, &edited, MAIN);
    let other = check(&linked, &moved_by(1), "an edited library");
    assert_eq!(names(&other), BTreeSet::from(["library::other"]));
    let longer = MAIN.replace("as i32", "as i32 / 3");
    linked.programs.head = self::linked(&folder, &edited, &longer);
    let placed = check(&linked, &moved_by(1), "another executable");
    // Of the program itself, only its length is known here.
    assert_eq!(names(&placed), BTreeSet::from(["library::other", "main::main"]));
    assert_eq!(placed.base.all, other.base.all);
    linked.programs.head = linked.programs.base.clone();
    linked.programs.head.comparisons = Some(folder.join("compared"));
    // Its file has another name, as that of another executable.
    let stored = linked.stored();
    assert_eq!(places(&linked.programs, &moved_by(1)), linked.fresh(&moved_by(1)));
    assert_ne!(linked.stored(), stored);
    assert_ne!(first, other);
}

#[cfg_attr(not(target_arch = "x86_64"), ignore = "objects are read on x86-64 alone")]
#[test]
fn neither_a_damaged_comparison_nor_a_damaged_object_file_counts() {
    if !LINKS_AS_GNU {
        return;
    }
    let linked = Linked::new();
    let moves = moved_by(1);
    let first = places(&linked.programs, &moves).unwrap();
    let file = linked.stored().pop().unwrap();
    let whole = std::fs::read(&file).unwrap();
    let text = String::from_utf8(whole.clone()).unwrap();
    let digits = text.match_indices(|c: char| c.is_ascii_digit()).map(|(at, _)| at);
    let places_of_digits: Vec<usize> = digits.collect();
    let step = places_of_digits.len() / 20;
    for at in places_of_digits.into_iter().step_by(step) {
        let mut damaged = whole.clone();
        damaged[at] = if damaged[at] == b'7' { b'8' } else { b'7' };
        std::fs::write(&file, damaged).unwrap();
        assert_eq!(places(&linked.programs, &moves).as_ref(), Ok(&first), "byte {at}");
        assert_eq!(std::fs::read(&file).unwrap(), whole, "byte {at} was not repaired");
    }
    for damaged in [&b""[..], b"\n", b"{}", &whole[..whole.len() / 2], &whole[..whole.len() - 1]] {
        std::fs::write(&file, damaged).unwrap();
        assert_eq!(places(&linked.programs, &moves).as_ref(), Ok(&first));
        assert_eq!(std::fs::read(&file).unwrap(), whole);
    }
    // An object file that is not what was linked is no source of a comparison.
    std::fs::remove_file(&file).unwrap();
    let library = linked.folder.path().join("head/liblibrary.rlib");
    let mut content = std::fs::read(&library).unwrap();
    let middle = content.len() / 2;
    content[middle] ^= 1;
    std::fs::write(&library, content).unwrap();
    let error = places(&linked.programs, &moves).unwrap_err();
    assert!(error.ends_with("has changed since it was linked"), "{error}");
    assert_eq!(linked.stored().len(), 0);
}

//! What the program's own settings, and those of cargo, make a run read or start.

use super::mechanism::{Kind, Mechanism, Part};
use Part::{Code, Config, Data, File, Ignore, Lib, Link, Manifest, Script, Table, Target};

const fn one(name: &'static str, parts: &'static [Part]) -> Mechanism {
    Mechanism::new(name, Kind::Inputs, parts)
}

const fn gate(name: &'static str, parts: &'static [Part]) -> Mechanism {
    Mechanism::wide(name, Kind::Gate, parts)
}

/// Reads the number of rounds from a file.
const READS: Part = Lib("
    pub fn run(x: u64) -> u64 {
        let text = std::fs::read_to_string(\"NAME.txt\").unwrap();
        spin(text.trim().parse::<u64>().unwrap() + x) }");

/// Reads the number of rounds from a variable.
const VARIABLE: Part = Lib("
    pub fn run(x: u64) -> u64 { spin(std::env::var(\"NAME_N\").unwrap().parse::<u64>().unwrap() + x) }");

pub const TABLE: &[Mechanism] = &[
    one("stdin", &[Data("NAME.txt"), Table("stdin = \"NAME.txt\""), STDIN]),
    one("stdin_by_link", &[
        Part::File("NAME_quick.txt", QUICK),
        Part::File("NAME_slow.txt", SLOW),
        Link("NAME.txt", "NAME_«quick¦slow».txt"),
        Table("stdin = \"NAME.txt\""),
        Lib("pub fn run(x: u64) -> u64 {
            static N: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
            let read = || std::io::read_to_string(std::io::stdin()).unwrap().trim().parse().unwrap();
            spin(*N.get_or_init(read) + x) }"),
    ]),
    one("prepare", &[
        Script("NAME.sh", "#!/bin/sh\necho ROUNDS > NAME.txt"), Ignore("NAME.txt"),
        Table("prepare = \"./NAME.sh\""), READS,
    ]),
    one("prepare_by_file", &[
        Script("NAME.sh", "#!/bin/sh\ncp NAME_from.txt NAME.txt"), File("NAME_from.txt", "ROUNDS"),
        Ignore("NAME.txt"), Table("prepare = \"./NAME.sh\""), READS,
    ]),
    one("setup", &[
        Script("NAME.sh", "#!/bin/sh\necho ROUNDS > NAME.txt"), Ignore("NAME.txt"),
        Table("setup = \"./NAME.sh\""), READS,
    ]),
    one("setup_by_file", &[
        Script("NAME.sh", "#!/bin/sh\n. ./NAME_settings.sh\necho $rounds > NAME.txt"),
        File("NAME_settings.sh", "rounds=ROUNDS"),
        Ignore("NAME.txt"), Table("setup = \"sh ./NAME.sh\""), READS,
    ]),
    one("runner_by_file", &[
        Config("[target.'cfg(all())']\nrunner = \"./NAME.sh\""),
        Script("NAME.sh", "#!/bin/sh\n. ./NAME_settings.sh\nexport NAME_N\nexec \"$@\""),
        File("NAME_settings.sh", "NAME_N=ROUNDS"), VARIABLE,
    ]),
    gate("runner", &[
        Config("[target.'cfg(all())']\nrunner = \"./NAME.sh\""),
        Script("NAME.sh", "#!/bin/sh\nNAME_N=ROUNDS exec \"$@\""), VARIABLE,
    ]).unless_said(&["./runner.sh"]),
    gate("variable", &[Config("[env]\nNAME_N = \"ROUNDS\""), VARIABLE]).unless_said(&["variable_N"]),
    gate("head_runner", &[
        Code("pub fn run(x: u64) -> u64 { spin(ROUNDS + x) }"),
        Config("«¦[target.'cfg(all())']\nrunner = \"./NAME.sh\"»"),
        Script("NAME.sh", "#!/bin/sh\n\"$@\" | sed 's/bench: *[0-9.]*/bench: 100.00/'"),
    ]).unless_said(&["./head_runner.sh"]),
    gate("head_variable", &[
        Lib("pub fn run(x: u64) -> u64 {
            spin(if std::env::var_os(\"NAME_FAST\").is_some() { 100 } else { ROUNDS + x }) }"),
        Config("«¦[env]\nNAME_FAST = \"1\"»"),
    ]).unless_said(&["head_variable_FAST"]),
    gate("required_features", &[
        Code("pub fn run(x: u64) -> u64 { spin(ROUNDS + x) }"),
        Manifest("[features]\nnope = []"),
        Target("«¦required-features = [\"nope\"]»"),
    ]),
];

const QUICK: &str = "30000";
const SLOW: &str = "120000";

const STDIN: Part = Lib("pub fn run(x: u64) -> u64 {
    static N: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    let read = || std::io::read_to_string(std::io::stdin()).unwrap().len() as u64;
    spin(*N.get_or_init(read) + x) }");

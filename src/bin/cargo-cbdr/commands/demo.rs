//! `cargo cbdr demo`: the main job on a small repository with a planted
//! slowdown.

use std::path::Path;

use cargo_cbdr::exec::execution::Context;
use cargo_cbdr::exec::process::environment;
use cargo_cbdr::model::outcome::{StoppedBy, Verdict};
use cargo_cbdr::settings::table::Table;
use cargo_cbdr::workspace::Request;
use cargo_cbdr::workspace::git::make::Maker;
use cargo_cbdr::{Error, Options};

use super::compare::{KeepRuns, Observed, observed};
use super::{random_seed, request};
use crate::exit::{CommandResult, ExitKind};
use crate::failure::Failure;
use crate::render::readable::{CommandLine, Readable};
use crate::render::{self, print_text};
use crate::ui::fold::paragraph;
use crate::ui::{Ui, about, text};

/// The files of the first commit.
const FILES: [(&str, &str); 4] = [
    ("Cargo.toml", include_str!("../../../../fixtures/demo/Cargo_fixture.toml")),
    ("Cargo.lock", include_str!("../../../../fixtures/demo/Cargo_fixture.lock")),
    ("src/lib.rs", include_str!("../../../../fixtures/demo/src/lib.rs")),
    ("benches/words.rs", include_str!("../../../../fixtures/demo/benches/words.rs")),
];

/// What the branch does to `src/lib.rs`.
const SLOWER: &str = include_str!("../../../../fixtures/demo/slower/lib.rs");

const INTRODUCTION: &str = "A small repository: `main` counts words; the branch `clean` also \
    counts each word without its punctuation, which takes longer. The processor time of the \
    benchmark `words` may grow by 5%. `cargo cbdr compare main` on that branch:";

const NEXT: &str = r#"
The planted slowdown was found; `compare` would exit with code 100. In your own repository, on a branch:

    cargo cbdr compare main

It runs all bench targets, or the one that you name: `--bench NAME`, or permanently in Cargo.toml:

    [package.metadata.cbdr]
    bench = "NAME"
    threshold = "2%"
"#;

/// Creates the repository, compares, and suggests what to do next.
pub(crate) fn run(called: &CommandLine, context: Context<'_>) -> CommandResult {
    let mut ui = Ui::new();
    let folder = tempfile::Builder::new().prefix("cargo-cbdr-demo-").tempdir();
    let folder = folder.map_err(|error| about("could not create a folder for the demo", &error))?;
    let repository = folder.path().join("wordcount");
    make(&repository)?;
    print_text(&format!("{}\n", paragraph(INTRODUCTION, 0)))?;
    let flags = Table { base: Some("main".to_owned()), ..Table::default() };
    let request = Request {
        folder: repository,
        cache: Some(folder.path().join("cache")),
        env: environment(),
        ..request(flags)?
    };
    let options = Options { request, seed: random_seed(), ..Options::default() };
    let result = observed(&options, KeepRuns::default(), context, &mut ui);
    ui.end();
    let Observed { outcome, written, .. } = result?;
    let report = render::human::report(&Readable::new(&outcome, called));
    let printed = print_text(&format!("\n{report}"));
    // After a hangup there may be no terminal to print to.
    if outcome.stopped_by == StoppedBy::Interrupt {
        return Ok(ExitKind::interrupted(context.interrupt));
    }
    written?;
    printed?;
    if outcome.verdict != Some(Verdict::Regression) {
        let found = text::verdict(outcome.verdict.unwrap_or(Verdict::Inconclusive));
        return Failure::refused(format!("the demo planted a slowdown, but found: {found}"));
    }
    print_text(&NEXT.lines().map(|line| paragraph(line, 0)).collect::<String>())?;
    Ok(ExitKind::Success)
}

/// Creates the repository: `main`, and on top of it the slower branch.
fn make(path: &Path) -> Result<(), Failure> {
    for (name, content) in FILES {
        let file = path.join(name);
        fs_err::create_dir_all(file.parent().unwrap_or(path))?;
        fs_err::write(file, content)?;
    }
    let maker = Maker::new(path).map_err(Error::from)?;
    maker.commit("Count words").map_err(Error::from)?;
    maker.branch("clean").map_err(Error::from)?;
    fs_err::write(path.join("src/lib.rs"), SLOWER)?;
    maker.commit("Count each word without its punctuation, too").map_err(Error::from)?;
    Ok(())
}

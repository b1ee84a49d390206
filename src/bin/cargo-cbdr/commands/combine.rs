//! `cargo cbdr analyze --combine`.

use std::path::Path;

use cargo_cbdr::Error;
use cargo_cbdr::engine::schedule::Shard;
use cargo_cbdr::exec::process::Interrupt;
use cargo_cbdr::flows::event::Event;
use cargo_cbdr::model::metric::Units;
use cargo_cbdr::model::outcome::{OnDoubt, Removed, StoppedBy};
use cargo_cbdr::samples::{self, Branch, Judging, Misfit, Part, Recording, Spec};

use super::analyze;
use crate::cli::Analyze;
use crate::exit::Exit;
use crate::report::about::{self, About};
use crate::report::outcome::Outcome;
use crate::report::outputs::{Outputs, Wanted};
use crate::ui::{Failure, Ui};

/// Gives the verdict of the shards that several machines measured.
pub(crate) fn run(args: &Analyze, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let outputs = Outputs::new(args.format, Wanted::default(), interrupt)?;
    let mut abouts: Vec<About> = Vec::new();
    let mut parts: Vec<Part> = Vec::new();
    for path in &args.samples.files {
        let about = about_of(path)?;
        parts.push(part(path, &about)?);
        abouts.push(about);
    }
    let Some(first) = abouts.first() else {
        return Err(Failure::Arguments("no file to combine".to_owned()));
    };
    let gates: Vec<_> = first.gates.iter().map(|limit| about::gate(limit).1).collect();
    let bad_estimator = |why| no_shard(&name(&args.samples.files[0]), why);
    let estimator = first.estimator.parse().map_err(bad_estimator)?;
    let judging =
        Judging { confidence: first.confidence, estimator, allow_missing: args.allow_missing };
    let findings = samples::combine(parts, judging).map_err(Error::from)?;
    let spec = Spec {
        judges: false,
        gates: Some(gates),
        named: Vec::new(),
        confidence: first.confidence,
        estimator,
        chosen: true,
        base: None,
        units: Units::new(),
    };
    let doubt = |told: &str| told.parse().unwrap_or(OnDoubt::Pass);
    let on_inconclusive = match &args.on_inconclusive {
        Some(asked) => asked.read("on-inconclusive").map_err(Failure::usage)?,
        None => doubt(&first.on_inconclusive),
    };
    let on_no_baseline = doubt(&first.on_no_baseline);
    let on_removed = doubt(&first.on_removed);
    let mut ui = Ui::new();
    findings.notices.iter().for_each(|notice| ui.show(&Event::Notice(notice)));
    ui.end();
    let outcome = Outcome::of_samples(&findings, &spec, on_inconclusive);
    let outcome = Outcome { on_no_baseline, on_removed, ..outcome };
    analyze::give(args.format, outputs, &outcome, &findings, &spec)?;
    let exit = match findings.stopped_by {
        StoppedBy::NoBaseline => Exit::doubt(on_no_baseline),
        _ => Exit::of_samples(findings.verdict, on_inconclusive),
    };
    Ok(exit.unless_removed(&findings.branch.removed, on_removed))
}

/// A file, as it is called in messages.
fn name(path: &Path) -> String {
    format!("`{}`", path.display())
}

fn no_shard(file: &str, why: String) -> Failure {
    let misfit = Misfit::NoShard { file: file.to_owned(), why };
    Error::from(samples::Error::from(misfit)).into()
}

fn about_of(path: &Path) -> Result<About, Failure> {
    if path == Path::new("-") {
        let what = "a shard has a second file beside it, so that standard input can't be one";
        return Err(Failure::Arguments(what.to_owned()));
    }
    About::beside(path)?.map_err(|why| no_shard(&name(path), why))
}

fn part(path: &Path, about: &About) -> Result<Part, Failure> {
    let file = name(path);
    let bad = |why: String| no_shard(&file, why);
    let told = about.shard.as_ref().ok_or_else(|| bad("it was not measured as one".to_owned()))?;
    let units = about::units(&about.units).map_err(bad)?;
    let exact = about.exact.iter().map(|known| about::answer(known, &units)).collect();
    let mut recording = Recording::new(None, units);
    let text = fs_err::read(path)?;
    if !text.trim_ascii().is_empty() {
        recording.read(&mut text.as_slice(), &file).map_err(Error::from)?;
    }
    Ok(Part {
        shard: Shard { number: told.number, of: told.of },
        order: told.seed,
        alike: alike(about)?,
        gates: about.gates.iter().map(about::gate).collect(),
        exact,
        branch: branch(about),
        nothing: match about.stopped_by.as_str() {
            "identical" => Some(StoppedBy::Identical),
            "no-baseline" => Some(StoppedBy::NoBaseline),
            _ => None,
        },
        rows: about.rows,
        recording,
        file,
    })
}

/// What the branch changes of its own gate.
fn branch(about: &About) -> Branch {
    let removed = about.removed.iter().cloned();
    let removed = removed.map(|(benchmark, metric)| Removed { benchmark, metric }).collect();
    Branch { removed, selecting: about.selecting.clone(), told: about.told.clone() }
}

/// What all shards must have alike, in the order in which it is said.
fn alike(about: &About) -> Result<Vec<(&'static str, String)>, Failure> {
    let json = |value: serde_json::Result<String>| value.map_err(std::io::Error::other);
    Ok(vec![
        ("base commits", about.base.commit.clone()),
        ("base trees", about.base.tree.clone()),
        ("head commits", about.head.commit.clone()),
        ("head trees", about.head.tree.clone()),
        ("toolchains", about.toolchain.clone().unwrap_or_else(|| "none".to_owned())),
        ("benchmarks or options", json(serde_json::to_string(&about.programs))?),
        ("estimators", about.estimator.clone()),
        ("confidences", about.confidence.to_string()),
        ("metrics or thresholds", json(serde_json::to_string(&about.gates))?),
        ("units", json(serde_json::to_string(&about.units))?),
        ("answers to `on-inconclusive`", about.on_inconclusive.clone()),
        ("answers to `on-no-baseline`", about.on_no_baseline.clone()),
        ("answers to `on-removed`", about.on_removed.clone()),
        ("removed benchmarks or metrics", json(serde_json::to_string(&about.removed))?),
        ("notices of the tables", json(serde_json::to_string(&about.told))?),
    ])
}

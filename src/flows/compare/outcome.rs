//! What a comparison has found out, as its result.

use std::collections::BTreeSet;

use super::session::Session;
use crate::model::{
    BenchmarkNotice, BenchmarkResult, ChangedFunction, Notice, Outcome, Sampled, Status, StoppedBy,
    Verdict,
};
use crate::workspace::{Prepared, State};

impl Session<'_, '_> {
    /// The result without notices.
    pub(super) fn outcome(&self, sampled: Sampled) -> Outcome {
        let Sampled { stopped_by, suite, likely_slower, elapsed, .. } = sampled;
        let benchmarks = self.all_results();
        let numbers = suite.iter().flat_map(|suite| &suite.numbers);
        // That of a shard is that of all shards together.
        let of_all = self.call.options.shard.is_none().then(|| {
            Verdict::of_benchmarks(benchmarks.iter().chain(numbers), likely_slower.as_deref())
        });
        let verdict = stopped_by.without_runs().or(of_all);
        let has_unmeasured = benchmarks.iter().any(|one| one.status == Status::NotMeasured);
        let is_open = stopped_by == StoppedBy::Verdict && verdict == Some(Verdict::Inconclusive);
        let stopped_by = if has_unmeasured && is_open { StoppedBy::TimeLimit } else { stopped_by };
        let own = self.programs.iter().flat_map(|program| program.found.removed());
        let settings = &self.preparation.settings;
        Outcome {
            verdict,
            stopped_by,
            elapsed_seconds: Some(elapsed),
            prepare_seconds: Some(self.findings.prepare_seconds),
            benchmarks,
            suite,
            likely_slower,
            sides: Some(self.preparation.about.sides.clone()),
            toolchain: Some(self.preparation.about.toolchain.clone()),
            policy: settings.policy.clone(),
            limits: settings.limits.clone(),
            seed: Some(self.call.options.seed),
            shard: Some(self.call.options.shard),
            removed: self.preparation.about.removed.iter().cloned().chain(own).collect(),
            explanations: self.findings.explanations.clone(),
            ..Outcome::default()
        }
    }

    /// The measured benchmarks, together with those that had nothing to measure.
    fn all_results(&self) -> Vec<BenchmarkResult> {
        let removed = &self.preparation.about.removed;
        let mut all = Vec::new();
        for (number, one) in self.preparation.benchmarks.iter().enumerate() {
            let Prepared { benchmark, state, .. } = one;
            match state {
                State::Ready(_) | State::Same(..) => {
                    let own = self.programs.iter().filter(|program| program.number == number);
                    all.extend(own.flat_map(|one| one.found.all_results(&benchmark.shown)));
                }
                State::Identical(reason) => {
                    let (name, reason) = (&benchmark.name, reason.clone());
                    all.push(BenchmarkResult::same(name, Status::Compared, reason));
                }
                State::NoBaseline if removed.iter().any(|it| it.benchmark == benchmark.name) => {}
                State::NoBaseline => all.push(BenchmarkResult::new(&benchmark.name, Status::New)),
            }
        }
        let gone = removed.iter().map(|it| BenchmarkResult::new(&it.benchmark, Status::Removed));
        all.extend(gone);
        all
    }

    /// Which functions differ in programs with a regressed benchmark, if that is known.
    pub(super) fn changed_functions(&self) -> Vec<Notice> {
        let edited = self.preparation.about.changed_crates.as_ref();
        let modules = modules(&self.preparation.about.moves.changed, edited);
        let mut notices = Vec::new();
        for program in &self.programs {
            let regressed = program.found.results.iter().filter(|result| result.has_regressed());
            let entered = regressed.map(|result| program.found.entered.get(&result.name));
            let entered: Vec<_> = entered.collect();
            if entered.is_empty() {
                continue;
            }
            let Some(changed) = program.changed_functions() else { continue };
            let is_known = entered.iter().all(Option::is_some);
            let mut changed = changed.to_vec();
            for function in &mut changed {
                let runs = entered.iter().flatten().any(|of| of.contains(&function.name));
                function.runs = is_known.then_some(runs);
                function.is_edited = edited.and_then(|crates| names_any(&function.name, crates));
                function.in_edited_file = modules.iter().any(|it| function.name.contains(it));
            }
            sort_by_relevance(&mut changed);
            notices.push(BenchmarkNotice::Functions { changed }.about(&program.name()));
        }
        notices
    }
}

/// Adds the notices to a result.
pub(super) fn with_notices(outcome: Outcome, notices: Vec<Notice>) -> Outcome {
    let selecting = notices.iter().filter_map(|notice| match notice {
        Notice::RunDiffers(differs) => Some(differs.selecting()),
        _ => None,
    });
    Outcome { selecting: selecting.flatten().collect(), notices, ..outcome }
}

/// Puts those of edited files first, then those that run in a regressed benchmark, and of these
/// those whose source may have changed. What is called rarely may not have been seen to run. Those of
/// the same size are last: in C, an edit moves the numbers of lines (`__LINE__`) in many others.
fn sort_by_relevance(changed: &mut [ChangedFunction]) {
    let order = |one: &ChangedFunction| {
        let has_same_size = one.bytes.base == one.bytes.head;
        let has_other_source = one.is_edited == Some(false);
        (!one.in_edited_file, one.runs == Some(false), has_other_source, has_same_size)
    };
    changed.sort_by_key(order);
}

/// How the names of functions of the files that are `changed` begin, as far as their paths tell:
/// not of the root of a library, since all of its functions begin like it.
fn modules(changed: &[String], crates: Option<&BTreeSet<String>>) -> Vec<String> {
    let inside = changed.iter().filter_map(|path| {
        let (_, inside) = path.strip_suffix(".rs")?.rsplit_once("src/")?;
        Some(inside.trim_end_matches("/mod").replace('/', "::"))
    });
    let modules = inside.filter(|module| !["lib", "main"].contains(&&**module));
    let of = |module: String| match crates {
        Some(crates) => crates.iter().map(|name| format!("{name}::{module}::")).collect(),
        None => vec![format!("::{module}::")],
    };
    modules.flat_map(of).collect()
}

/// Whether a function's name contains one of these crates; names of generic functions also
/// contain those of their type arguments. `None` for functions of other languages, besides the `main`
/// that rustc generates.
fn names_any(function: &str, crates: &BTreeSet<String>) -> Option<bool> {
    let mut words = function.split(|c: char| !c.is_alphanumeric() && c != '_');
    let is_rust = function == "main" || function.contains("::");
    is_rust.then(|| words.any(|word| crates.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Pair;

    #[test]
    fn of_the_functions_that_differ_those_come_first_that_run_and_may_have_been_edited() {
        let crates = BTreeSet::from(["hex".to_owned()]);
        let changed = ["src/lib.rs", "fuzz/hex.rs", "a/src/error/mod.rs", "src/parse.rs"];
        let modules = modules(&changed.map(str::to_owned), Some(&crates));
        assert_eq!(modules, ["hex::error::", "hex::parse::"]);
        let function = |name: &str, runs, is_edited| ChangedFunction {
            name: name.to_owned(),
            bytes: Pair { base: Some(1), head: Some(2) },
            runs,
            is_edited,
            in_edited_file: modules.iter().any(|module| name.contains(module)),
        };
        let mut of_same_size = function("memmove", Some(true), None);
        of_same_size.bytes.head = of_same_size.bytes.base;
        let mut changed = [
            of_same_size,
            function("elsewhere", Some(false), Some(true)),
            function("criterion::iter", Some(true), Some(false)),
            function("hex::encode", Some(true), Some(true)),
            function("memcpy", Some(true), None),
            function("hex::parse::rarely", Some(false), Some(true)),
            function("hex::parse::often", Some(true), Some(true)),
        ];
        sort_by_relevance(&mut changed);
        let names = changed.each_ref().map(|function| function.name.as_str());
        let of_edited_files = ["hex::parse::often", "hex::parse::rarely"];
        assert_eq!(names[..2], of_edited_files);
        let others = ["hex::encode", "memcpy", "memmove", "criterion::iter", "elsewhere"];
        assert_eq!(names[2..], others);
    }

    #[test]
    fn a_function_is_edited_if_its_name_contains_a_changed_crate() {
        let crates = BTreeSet::from(["hex".to_owned()]);
        let edited = |name: &str| names_any(name, &crates);
        assert_eq!(edited("<hex::Encoder as core::fmt::Display>::fmt"), Some(true));
        assert_eq!(edited("criterion::Bencher::iter::<hex::Bytes>"), Some(true));
        assert_eq!(edited("rustc_hex::encode"), Some(false));
        assert_eq!(edited("memcpy"), None);
        assert_eq!(edited("main"), Some(false));
    }
}

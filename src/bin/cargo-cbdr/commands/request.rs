//! From arguments that several commands have to what the library is asked.

use std::path::PathBuf;

use cargo_cbdr::model::side::Side;
use cargo_cbdr::settings::options::{check, threshold_flag};
use cargo_cbdr::settings::table::Table;
use cargo_cbdr::workspace::Request;

use super::{capture, environment};
use crate::cli::{Question, Subject};
use crate::ui::Failure;

/// A request in the folder that we were called in, of a `head` that is not
/// HEAD if there is one, and of the benchmarks that `filter` matches.
pub(super) fn request(
    flags: Table,
    head: Option<String>,
    filter: Option<String>,
) -> Result<Request, Failure> {
    Ok(Request { head, filter, ..request_in(super::current_folder()?, flags)? })
}

/// A request of HEAD in a folder.
pub(super) fn request_in(folder: PathBuf, flags: Table) -> Result<Request, Failure> {
    Ok(Request {
        folder,
        flags,
        head: None,
        instead: None,
        filter: None,
        exact_base: false,
        dirty: false,
        fetch: false,
        aa: false,
        always_run: false,
        policy_from: Side::Base,
        cache: cache_dir(),
        env: environment(),
        capture: capture()?,
    })
}

/// The cache's place, when the environment names one.
pub(super) fn cache_dir() -> Option<PathBuf> {
    std::env::var_os("CBDR_CACHE_DIR").filter(|place| !place.is_empty()).map(PathBuf::from)
}

/// Puts what is run, and what decides, into a table.
pub(super) fn checked(
    table: Table,
    subject: &Subject,
    question: Option<&Question>,
) -> Result<Table, Failure> {
    let some = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
    let mut table = Table {
        package: subject.package.clone(),
        bench: subject.bench.clone(),
        bin: subject.bin.clone(),
        example: subject.example.clone(),
        command: subject.command.clone(),
        build_command: subject.build_command.clone(),
        harness: subject.harness.clone(),
        args: some(&subject.args),
        features: some(&subject.features),
        all_features: subject.all_features.then_some(true),
        no_default_features: subject.no_default_features.then_some(true),
        profile: subject.profile.clone(),
        toolchain: subject.toolchain.clone(),
        warmup: subject.warmup,
        run_timeout: subject.run_timeout.clone(),
        ..table
    };
    if let Some(question) = question {
        table.metrics = some(&question.metric);
        table.show = some(&question.show);
        table.warn.clone_from(&question.warn);
        table.confidence.clone_from(&question.confidence);
        table.estimator.clone_from(&question.estimator);
        table.time_limit.clone_from(&question.time_limit);
        table.max_pairs = question.max_pairs;
        for threshold in &question.threshold {
            threshold_flag(threshold, &mut table).map_err(Failure::usage)?;
        }
    }
    // Said before anything is checked out: a flag that can't be understood is
    // the command line's fault.
    check(&table).map_err(Failure::usage)?;
    Ok(table)
}

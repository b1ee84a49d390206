//! The tables with pairs from several machines.

use std::fmt::Write;

use super::machines::{Park, Shards, Way};
use super::plan::{CHANGES, OTHER_WAYS, Results, SHARD_ESTIMATORS, SHARD_NOISES, Size, parks};
use super::tables::{broken, head, pairs, percent, row, words};
use super::trial::{THRESHOLD, error_of_rate};

/// All of these tables.
pub fn tables(size: &Size, results: &Results<Shards>) -> String {
    let mut out = String::new();
    let error = percent(error_of_rate(0.05, size.runs));
    let _ = writeln!(
        out,
        "\n## Several machines\n\nPairs of 1 to 8 machines, as `analyze --combine` evaluates them: \
         in turn, and weighted. *alike*: they differ in speed, by up to a factor of 5; *mixed*: \
         they also differ in noise, which is that of the first machine to the power of 0.5 to 4. A \
         machine measures as many pairs as its speed allows, whatever the results; all of them \
         together measure {} at the threshold and {} elsewhere. At the threshold, there are {} \
         comparisons per cell (standard error {error}), elsewhere an eighth of that.",
        size.pairs,
        size.patience / 2,
        size.runs,
    );
    let title = "Wrong verdicts at the threshold, %, promised 5 % (alarms / all-clears)";
    table(&mut out, title, size, |cell| results.of(&cell(THRESHOLD)).rates(1));
    let title = "Mean pairs to a verdict, of all machines together: no change / half the threshold \
                 (`>`: some had none)";
    table(&mut out, title, size, |cell| {
        [CHANGES[0], CHANGES[1]].map(|change| pairs(&results.of(&cell(change)))).join(" / ")
    });
    others(&mut out, size, results);
    broken(&mut out, results);
    out
}

/// A row for each noise and estimator, a column for each park.
fn table(
    out: &mut String,
    title: &str,
    size: &Size,
    cell_text: impl Fn(&dyn Fn(f64) -> Shards) -> String,
) {
    let columns = parks().into_iter().map(|park| match park {
        (1, _) => "1".to_owned(),
        (number, Park::Alike) => format!("{number} alike"),
        (number, Park::Mixed) => format!("{number} mixed"),
    });
    head(out, title, &[words(&["rule", "noise"]), columns.collect()].concat());
    for estimator in SHARD_ESTIMATORS {
        for noise in SHARD_NOISES {
            let cells = parks()
                .into_iter()
                .map(|park| cell_text(&|change| size.of_shards(estimator, noise, park, change)));
            row(out, [format!("`{estimator}`"), noise.name()].into_iter().chain(cells));
        }
    }
}

/// The other ways that were tried.
fn others(out: &mut String, size: &Size, results: &Results<Shards>) {
    let title = format!(
        "{OTHER_WAYS} mixed machines in other ways: wrong at the threshold, %, and mean pairs at no \
         change"
    );
    let columns =
        ["rule", "noise", "ours", "each machine stops at a verdict of its own", "no weights"];
    head(out, &title, &words(&columns));
    for estimator in SHARD_ESTIMATORS {
        for noise in SHARD_NOISES {
            let cells = [Way::Ours, Way::OwnVerdicts, Way::Unweighted].map(|way| {
                let cell = |change| {
                    let park = (OTHER_WAYS, Park::Mixed);
                    let cell = size.of_shards(estimator, noise, park, change);
                    results.of(&Shards { way, ..cell })
                };
                let wrong = cell(THRESHOLD);
                format!(
                    "{:.1} / {:.1}, {}",
                    100.0 * wrong.alarm_rate(),
                    100.0 * wrong.clear_rate(),
                    pairs(&cell(CHANGES[0]))
                )
            });
            row(out, [format!("`{estimator}`"), noise.name()].into_iter().chain(cells));
        }
    }
}

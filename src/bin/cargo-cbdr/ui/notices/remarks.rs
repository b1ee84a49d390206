//! What is remarked on a metric, such as what its noise looks like.

use cargo_cbdr::model::{AtLength, Finding, Kinds, Learnt, Remark, Verdict, Waived};
use cargo_cbdr::stats::estimator::TAIL;
use cargo_cbdr::stats::learnt::RESULTS;

use crate::ui::subjects::Subjects;
use crate::ui::text::{self, count, percent};

/// What is remarked on a metric of one benchmark or of several.
pub(super) fn remark(remark: &Remark, of: &Subjects) -> String {
    let shown = |change: Option<f64>| change.map_or("from zero".to_owned(), percent);
    match remark {
        Remark::Warned { change } => format!(
            "changed{}, which passes, but exceeds the warning level",
            of.alone(format!(" by {}", shown(*change)))
        ),
        Remark::Waived { change, needed, waiver, better } => {
            let Waived { threshold, ceiling, reason, expires, issue, .. } = waiver;
            let issue = issue.as_ref().map_or(String::new(), |issue| format!(", {issue}"));
            let passes = if *needed { "waived" } else { "passes without its waiver" };
            format!(
                "changed by {}, {passes}: up to {} instead of {} is accepted until {expires} \
                 ({reason}{issue})",
                shown(*change),
                percent(better.limit(*ceiling)),
                percent(better.limit(*threshold))
            )
        }
        Remark::Learnt { threshold, learnt } => self::learnt(*threshold, learnt, of),
        Remark::SmallChange => {
            "the change is below 5%: these two executables differ by it, but code placement alone \
             can cause that"
                .to_owned()
        }
        Remark::Longer { short, long, pairs, verdict } => {
            let at = |at: &AtLength| {
                format!("{} in runs of {}", shown(at.change), text::length(at.seconds))
            };
            let open = match verdict {
                Verdict::Regression => "",
                _ => ", which is not certain yet: a longer `--time-limit` would decide",
            };
            let (short, long, pairs) = (at(short), at(long), count(*pairs, "pair"));
            format!("{short}, but {long} ({pairs}): more iterations run other code{open}")
        }
        Remark::Placement { before, layouts, summary, verdict } => {
            let over = match layouts.number {
                0 => String::new(),
                number => format!(
                    "; {} over {}",
                    text::changed(summary),
                    text::layouts(number, layouts.placing)
                ),
            };
            let why = match (layouts.number, verdict) {
                (0, _) => {
                    "but it ended before other layouts of the code could be sampled to rule out \
                     placement; more time (`--time-limit`) would decide"
                }
                (_, Verdict::NoRegression) => {
                    "but not over other layouts of the code: placement, not your change"
                }
                _ => {
                    "but the layouts of the code sampled so far do not rule out placement; more \
                     layouts would decide"
                }
            };
            let numbers = of.alone(format!(" ({}{over})", text::changed(&before.summary)));
            format!("slower {}{numbers}, {why}", before.label())
        }
        Remark::Tail { average, typical } => format!(
            "rare slow runs changed the average more than the typical run{}; an average may \
             change by {TAIL} times the threshold",
            of.alone(format!(" ({}, typically {})", percent(*average), percent(*typical)))
        ),
        Remark::Ties { ties, pairs } => format!(
            "many pairs changed by exactly the threshold{} and count for neither verdict",
            of.alone(format!(" ({ties} of {pairs})"))
        ),
        Remark::Noise(found) => finding(found, of),
    }
}

/// Where a learnt threshold comes from.
fn learnt(threshold: f64, Learnt { results, earlier }: &Learnt, of: &Subjects) -> String {
    let size = text::short_size(threshold);
    match (results, earlier) {
        (0, _) => format!(
            "threshold {size}, the default: fewer than {} results of this kind of machine are \
             stored with the base and the commits before it (`cargo cbdr history record` stores \
             them, `history pull` fetches them)",
            RESULTS[0]
        ),
        (_, None) => format!(
            "threshold {}, learnt from {} results",
            of.or(size, "of its own"),
            of.or(results, "stored")
        ),
        (_, Some(earlier)) => format!(
            "the threshold learnt from stored results has grown{}: what is measured has become \
             noisier",
            of.alone(format!(" from {} to {size}", text::short_size(*earlier)))
        ),
    }
}

/// A finding about the noise and what can be done about it.
fn finding(finding: &Finding, of: &Subjects) -> String {
    match *finding {
        Finding::Outliers { one_in, share } => format!(
            "outliers cause most of the variance{}; a mean needs many pairs to average them out; \
             a median (`--estimator median`) does not, but would not notice if only the slow runs \
             changed",
            of.alone(format!(" (1 pair in {one_in:.0} causes {})", whole_percent(share)))
        ),
        Finding::Skewed { skewness, average, typical } => format!(
            "a few pairs have a far higher value on {}, so the average change{} is not the \
             typical one{}; a mean estimates the former, a median the latter (`--estimator`)",
            of.or(if skewness > 0.0 { "the head" } else { "the base" }, "one side"),
            of.alone(format!(" of {}", percent(average))),
            of.alone(format!(" of {}", percent(typical)))
        ),
        Finding::TwoKinds { base, head } => format!(
            "the runs come in two kinds{}; look for what varies from run to run, such as the \
             core, the memory layout or a cache; the change is that of the mixture",
            of.alone(two_kinds(base, head))
        ),
        Finding::Drift { change } => format!(
            "the values of both sides drifted while sampling{}; pairing cancels most of that, but \
             check what else the machine is doing, and whether it gets hot",
            of.alone(format!(" ({})", higher(change)))
        ),
        Finding::DifferenceDrift { change } => format!(
            "the head's values drifted relative to the base's while sampling{}, so the change is \
             an average over time; a longer warm-up (`--warmup`) or a second comparison shows \
             which value lasts",
            of.alone(format!(" ({})", higher(change)))
        ),
        Finding::Slot { effect, z } => format!(
            "the second run of a pair differs from the first{}; the sides take turns, so the \
             change is not biased, but make sure that no run leaves files, processes or full \
             caches behind",
            of.alone(format!(" ({}, {:.1} standard errors)", higher(effect), z.abs()))
        ),
        Finding::CarryOver { effect, z } => format!(
            "a run depends on which side ran before it{}, so the error rate is not guaranteed; \
             make sure that no run leaves files, processes or full caches behind (`--prepare` \
             runs a command before each)",
            of.alone(format!(
                " ({} after the head, {:.1} standard errors)",
                higher(effect),
                z.abs()
            ))
        ),
        Finding::Correlated { correlation } => format!(
            "each pair resembles the one before{}: one side may be fast for many pairs and then slow, \
             which the stated confidence does not cover; repeat the comparison, on a quieter machine \
             if possible",
            of.alone(format!(" (correlation {correlation:.2})"))
        ),
        Finding::Coarse { step } => format!(
            "the values are multiples of a step{}, too coarse for the threshold, so the error rate \
             is not guaranteed: make a run longer, or measure a larger amount of work",
            of.alone(format!(" of {:.2}%", 100.0 * step))
        ),
        Finding::NotNormal { fit } => format!(
            "the differences are far from normally distributed{}; a median may need far fewer \
             pairs than a mean (`--estimator median`)",
            of.alone(format!(" (fit {fit:.2})"))
        ),
    }
}

/// What kinds of runs there are on each side: ` (30% of the head's are 20.0% higher)`.
fn two_kinds(base: Option<Kinds>, head: Option<Kinds>) -> String {
    let kinds = [("base", base), ("head", head)].into_iter().filter_map(|(side, kinds)| {
        let Kinds { share, distance } = kinds?;
        Some(format!("{} of the {side}'s are {}", whole_percent(share), higher(distance)))
    });
    format!(" ({})", text::list(kinds))
}

/// `1.23% higher`, `1.23% lower`. Whether that is worse depends on the metric.
fn higher(change: f64) -> String {
    let word = if change < 0.0 { "lower" } else { "higher" };
    format!("{} {word}", text::size(change))
}

fn whole_percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use cargo_cbdr::model::notice::Notice;

    use super::*;

    #[test]
    fn findings_are_sentences_without_an_end() {
        let of = Subjects::of(&[&Notice::OneLook]);
        let kinds = Some(Kinds { share: 0.3, distance: 0.2 });
        let table = [
            (Finding::Outliers { one_in: 9.4, share: 0.96 }, "(1 pair in 9 causes 96%)"),
            (
                Finding::Skewed { skewness: 1.0, average: 0.02, typical: 0.0 },
                "a far higher value on the head",
            ),
            (Finding::TwoKinds { base: None, head: kinds }, "in two kinds (30% of the head's are"),
            (
                Finding::TwoKinds { base: kinds, head: kinds },
                "of the base's are 20.0% higher and 30%",
            ),
            (Finding::Drift { change: -0.06 }, "while sampling (6.00% lower)"),
            (Finding::DifferenceDrift { change: 0.02 }, "while sampling (2.00% higher)"),
            (Finding::Slot { effect: -0.012, z: -4.0 }, "from the first (1.20% lower, 4.0"),
            (Finding::CarryOver { effect: 0.02, z: 5.0 }, "(2.00% higher after the head, 5.0"),
            (Finding::Correlated { correlation: 0.31 }, "(correlation 0.31)"),
            (Finding::Coarse { step: 0.01 }, "a step of 1.00%"),
            (Finding::NotNormal { fit: 0.9 }, "(fit 0.90)"),
        ];
        for (found, part) in table {
            let words = finding(&found, &of);
            assert!(words.contains(part), "{words}");
            assert!(!words.ends_with('.') && !words.starts_with(char::is_uppercase), "{words}");
        }
    }
}

//! Why verdicts are open, and what would decide them.

use cargo_cbdr::model::{Advice, Unlikely};

use crate::ui::text::{self, count, percent, roughly};

/// What would decide the undecided verdicts, as options.
pub(super) fn advice(advice: &Advice) -> String {
    let Advice { open, metric, threshold, time, is_limited_by_pairs } = advice;
    let of = |decided: &usize| match (decided == open, open) {
        (true, 1) => "it".to_owned(),
        (true, _) => "all".to_owned(),
        (false, _) => format!("{decided} of {open}"),
    };
    let mut tried = Vec::new();
    if let Some((metric, decided)) = metric {
        tried.push(format!("`--metric {metric}` would have decided {}", of(decided)));
    }
    if let Some((threshold, decided)) = threshold {
        tried.push(format!(
            "`--threshold {}` would have decided {}",
            text::fraction(*threshold),
            of(decided)
        ));
    }
    if let Some((seconds, decided)) = time {
        // Whole minutes, rounded up.
        let minutes = (seconds / 60.0).ceil();
        let limit = format!("`--time-limit {minutes}m`");
        let longer = if *is_limited_by_pairs { "a larger `--max-pairs`" } else { &limit };
        tried.push(format!("{longer} would probably decide {}", of(decided)));
    }
    match tried.is_empty() {
        true => format!(
            "{open} undecided, and no other metric, threshold or time limit is known to help: \
             `cargo cbdr doctor` shows how noisy this machine is"
        ),
        false => format!("{open} undecided: {}", tried.join("; ")),
    }
}

/// Why a verdict is unlikely, and which changes could be distinguished from the threshold.
pub(super) fn unlikely(unlikely: &Unlikely) -> String {
    let Unlikely { benchmark, metric, limit, most_pairs, needed, reach, others } = unlikely;
    let (within, in_unit): (_, fn(f64) -> String) = match most_pairs {
        Some(most) => (count(*most, "pair"), |pairs| count(pairs as u64, "pair")),
        None => ("the limit".to_owned(), roughly),
    };
    let needed =
        needed.map(|needed| format!("at this noise it would take about {}", in_unit(needed)));
    let needed = needed.unwrap_or("the change is too close to the threshold".to_owned());
    let reach = match reach {
        Some(reach) => format!(
            "; until the limit, only changes below {} or above {} can be told from the threshold",
            percent(limit - reach),
            percent(limit + reach)
        ),
        None => String::new(),
    };
    let more = format!("; also true of {}", count(*others as u64, "other verdict"));
    let others = if *others == 0 { "" } else { &more };
    format!(
        "a verdict on `{metric}` of `{benchmark}` is unlikely within {within}: \
         {needed}{reach}{others}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_in_the_words_of_the_options() {
        let all = Advice {
            open: 5,
            metric: Some(("min_time".to_owned(), 5)),
            threshold: Some((0.05, 4)),
            time: Some((610.0, 3)),
            is_limited_by_pairs: false,
        };
        assert_eq!(
            advice(&all),
            "5 undecided: `--metric min_time` would have decided all; `--threshold 5%` would \
             have decided 4 of 5; `--time-limit 11m` would probably decide 3 of 5"
        );
        let nothing = Advice { open: 1, ..Advice::default() };
        assert_eq!(
            advice(&nothing),
            "1 undecided, and no other metric, threshold or time limit is known to help: \
             `cargo cbdr doctor` shows how noisy this machine is"
        );
        let it = Advice { threshold: Some((0.1, 1)), ..nothing };
        assert_eq!(advice(&it), "1 undecided: `--threshold 10%` would have decided it");
        let by_pairs = Advice {
            metric: None,
            threshold: None,
            time: Some((9.0, 4)),
            is_limited_by_pairs: true,
            ..all
        };
        assert_eq!(
            advice(&by_pairs),
            "5 undecided: a larger `--max-pairs` would probably decide 4 of 5"
        );
    }

    #[test]
    fn what_makes_a_verdict_unlikely_is_counted_as_its_limit_is() {
        let of = |most_pairs| {
            unlikely(&Unlikely {
                benchmark: "b".to_owned(),
                metric: "wall_time".to_owned(),
                limit: 0.02,
                most_pairs,
                needed: Some(120.0),
                reach: None,
                others: 0,
            })
        };
        let about = "a verdict on `wall_time` of `b` is unlikely within";
        let [time, pairs] = [of(None), of(Some(30))];
        assert_eq!(time, format!("{about} the limit: at this noise it would take about 2m"));
        assert_eq!(pairs, format!("{about} 30 pairs: at this noise it would take about 120 pairs"));
    }
}

//! The tables, as Markdown.

use std::fmt::Write;

use cargo_cbdr::model::estimator::Estimator;
use cargo_cbdr::stats::estimator::Levels;
use cargo_cbdr::stats::sequential::t_squared;

use super::noise::Noise;
use super::plan::{
    CHANGES, LARGE, LEVELS, QUESTIONS, Results, SHAPE_NOISES, SHAPES, SLOT, Simulated, Size,
    claimed, noises, ordered_rules, question_noises, question_rules, rules, slot_noises,
};
use super::trial::{Cell, Rule, THRESHOLD, Tally, error_of_rate, least_mean_pairs};
use super::two_point::ever_wrong;

pub fn percent(rate: f64) -> String {
    let digits = match rate {
        _ if rate <= 0.0 || rate >= 0.001 => 1,
        _ if rate >= 0.000_3 => 2,
        _ => 3,
    };
    format!("{:.*} %", digits, 100.0 * rate)
}

pub fn row(out: &mut String, cells: impl IntoIterator<Item = String>) {
    out.push('|');
    for cell in cells {
        let _ = write!(out, " {cell} |");
    }
    out.push('\n');
}

pub fn head(out: &mut String, title: &str, columns: &[String]) {
    let _ = writeln!(out, "\n### {title}\n");
    rule_off(out, columns);
}

fn rule_off(out: &mut String, columns: &[String]) {
    row(out, columns.iter().cloned());
    out.push_str(&"|---".repeat(columns.len()));
    out.push_str("|\n");
}

pub fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
}

/// The rate of wrong verdicts, the worse of the two kinds.
fn worse(tally: &Tally) -> f64 {
    tally.alarm_rate().max(tally.clear_rate())
}

/// Pairs to a verdict, with a mark if not every comparison came to one.
pub fn pairs(tally: &Tally) -> String {
    let open = tally.runs - tally.alarms - tally.clears;
    let mark = if open > 0 { ">" } else { "" };
    format!("{mark}{:.0}", tally.mean_pairs())
}

/// The table that `docs/error-rates.md` shows, too.
pub fn summary(size: &Size, results: &Results) -> String {
    let mut out = String::new();
    rule_off(
        &mut out,
        &words(&[
            "rule",
            "wrong, worst noise",
            "wrong, worst recording",
            "pairs, normal 3 %: +0 %",
            "+1 %",
            "pairs, recordings: +0 %",
            "+1 %",
        ]),
    );
    for rule in rules().into_iter().filter(|rule| *rule != Rule::Before) {
        let wrong = |noises: &[Noise]| {
            let rate = |noise: &Noise| {
                let cell = size.at_threshold(rule, *noise, 0.05);
                let counts = claimed(&cell) || matches!(rule, Rule::Welch(_));
                if counts { worse(&results.of(&cell)) } else { 0.0 }
            };
            percent(noises.iter().map(rate).fold(0.0, f64::max))
        };
        let normal = |i: usize| {
            pairs(&results.of(&size.until_verdict(rule, Noise::Normal(0.03), CHANGES[i])))
        };
        let recorded = |i: usize| {
            let tally = |noise| results.of(&size.until_verdict(rule, noise, CHANGES[i]));
            let tallies = Noise::RECORDED.map(tally);
            let logs: f64 = tallies.iter().map(|tally| tally.mean_pairs().ln()).sum();
            let open = tallies.iter().any(|tally| tally.alarms + tally.clears < tally.runs);
            format!("{}{:.0}", if open { ">" } else { "" }, (logs / 4.0).exp())
        };
        row(
            &mut out,
            [
                rule.name(),
                wrong(&Noise::SYNTHETIC),
                wrong(&Noise::RECORDED),
                normal(0),
                normal(1),
                recorded(0),
                recorded(1),
            ],
        );
    }
    out
}

/// All the tables.
pub fn full(size: &Size, results: &Results, horizon: u64) -> String {
    let mut out = String::new();
    at_threshold(&mut out, size, results);
    out.push_str(
        "\nOn two-point noise all minima are equal: `min` measures exactly the threshold there, \
         and its *no regression* is correct.\n",
    );
    elsewhere(&mut out, size, results);
    to_verdict(&mut out, size, results);
    held_out(&mut out, size, results);
    slots_and_questions(&mut out, size, results);
    shapes(&mut out, size, results);
    exact(&mut out, horizon);
    broken(&mut out, results);
    out
}

fn at_threshold(out: &mut String, size: &Size, results: &Results) {
    for level in LEVELS {
        let error = percent(error_of_rate(level, size.runs));
        let title = format!(
            "Wrong verdicts at the threshold, promised {} (alarms / all-clears; standard error {error})",
            percent(level)
        );
        let rules: Vec<Rule> = rules()
            .into_iter()
            .filter(|rule| level == 0.05 || matches!(rule, Rule::Ours(_)))
            .collect();
        let names = rules.iter().map(|rule| rule.name());
        head(out, &title, &[words(&["noise"]), names.collect()].concat());
        for noise in noises() {
            let rates = rules.iter().map(|rule| {
                let tally = results.of(&size.at_threshold(*rule, noise, level));
                tally.rates(if level < 0.01 { 2 } else { 1 })
            });
            row(out, std::iter::once(noise.name()).chain(rates));
        }
    }
    let runs = size.for_long(Noise::TwoPoint).runs;
    let title = format!(
        "`robust` at the threshold for {} pairs, promised 5 % (alarms / all-clears; standard error {})",
        size.patience,
        percent(error_of_rate(0.05, runs))
    );
    head(out, &title, &noises().iter().map(|noise| noise.name()).collect::<Vec<_>>());
    let rates = noises().into_iter().map(|noise| results.of(&size.for_long(noise)).rates(1));
    row(out, rates);
}

fn elsewhere(out: &mut String, size: &Size, results: &Results) {
    let title = "Wrong verdicts at no change / half / one and a half times the threshold, %, \
                 promised 5 %";
    let names = rules().iter().map(|rule| rule.name()).collect();
    head(out, title, &[words(&["noise"]), names].concat());
    for noise in noises() {
        let rates = rules().into_iter().map(|rule| {
            let wrong = CHANGES.map(|change| {
                let tally = results.of(&size.until_verdict(rule, noise, change));
                let rate = if change > THRESHOLD { tally.clear_rate() } else { tally.alarm_rate() };
                format!("{:.1}", 100.0 * rate)
            });
            wrong.join(" / ")
        });
        row(out, std::iter::once(noise.name()).chain(rates));
    }
}

fn to_verdict(out: &mut String, size: &Size, results: &Results) {
    let title = format!(
        "Mean pairs to a verdict at 5 %: no change / half / one and a half times the threshold \
         (`>`: some had none after {})",
        size.patience
    );
    let names = rules().iter().map(|rule| rule.name()).collect();
    head(out, &title, &[words(&["noise"]), names].concat());
    for noise in noises() {
        let means = rules().into_iter().map(|rule| {
            CHANGES
                .map(|change| pairs(&results.of(&size.until_verdict(rule, noise, change))))
                .join(" / ")
        });
        row(out, std::iter::once(noise.name()).chain(means));
    }
    let title = "Normal noise of 3 %: mean pairs, and their ratio to the lower bound";
    head(out, title, &words(&["rule", "no change", "half", "one and a half"]));
    for rule in rules() {
        let ratios = CHANGES.map(|change| {
            let tally = results.of(&size.until_verdict(rule, Noise::Normal(0.03), change));
            let bound = least_mean_pairs(change, 0.03, 0.05);
            let (mean, error) = (tally.mean_pairs(), tally.error_of_pairs());
            format!("{mean:.1} ± {error:.1}: {:.2}", mean / bound)
        });
        row(out, std::iter::once(rule.name()).chain(ratios));
    }
}

fn held_out(out: &mut String, size: &Size, results: &Results) {
    let names: Vec<String> = rules().iter().map(|rule| rule.name()).collect();
    let title = "Recordings that were not used to choose any constant: wrong verdicts at the threshold, %, \
                 promised 5 % (alarms / all-clears)";
    head(out, title, &[words(&["noise"]), names.clone()].concat());
    for noise in Noise::HELD_OUT {
        let rates = rules().into_iter().map(|rule| {
            let tally = results.of(&size.at_threshold(rule, noise, 0.05));
            tally.rates(1)
        });
        row(out, std::iter::once(noise.name()).chain(rates));
    }
    let title =
        "Mean pairs to a verdict at no change / half the threshold / five times the threshold";
    head(out, title, &[words(&["noise"]), names].concat());
    for noise in std::iter::once(Noise::Normal(0.03)).chain(Noise::HELD_OUT) {
        let means = rules().into_iter().map(|rule| {
            let changes = [CHANGES[0], CHANGES[1], LARGE];
            let mean = |change| pairs(&results.of(&size.until_verdict(rule, noise, change)));
            changes.map(mean).join(" / ")
        });
        row(out, std::iter::once(noise.name()).chain(means));
    }
}

fn slots_and_questions(out: &mut String, size: &Size, results: &Results) {
    let title = format!(
        "The second run of each pair takes {} longer: wrong verdicts at the threshold, % (alarms / \
         all-clears), and mean pairs at no change",
        percent(SLOT)
    );
    let names: Vec<String> = ordered_rules().iter().map(|rule| rule.name()).collect();
    head(out, &title, &[words(&["noise"]), names.clone()].concat());
    for noise in slot_noises() {
        let rates = ordered_rules().into_iter().map(|rule| {
            let tally = results.of(&size.with_slot(rule, noise));
            let same = Cell { slot: SLOT, ..size.until_verdict(rule, noise, CHANGES[0]) };
            format!("{}, {}", tally.rates(1), pairs(&results.of(&same)))
        });
        row(out, std::iter::once(noise.name()).chain(rates));
    }
    let title = "The order of the runs: wrong verdicts at the threshold, % (alarms / all-clears). In \
                 blocks of two pairs, one in each order, the second order follows from the first";
    head(out, title, &[words(&["noise"]), names[..2].to_vec()].concat());
    for noise in Noise::RECORDED {
        let rates = ordered_rules().into_iter().take(2).map(|rule| {
            let tally = results.of(&size.at_threshold(rule, noise, 0.05));
            tally.rates(1)
        });
        row(out, std::iter::once(noise.name()).chain(rates));
    }
    let title = "Several tests: any false alarm at the threshold, at most, promised 5 % (one \
        test's rate times their number, ± its standard error)";
    let columns = QUESTIONS.map(|number| format!("m = {number}"));
    head(out, title, &[words(&["rule", "noise"]), columns.to_vec()].concat());
    for rule in question_rules() {
        for noise in question_noises() {
            let rates = QUESTIONS.map(|number| {
                let rate = results.of(&size.with_questions(rule, noise, number)).alarm_rate();
                let error = error_of_rate(0.05 / number as f64, size.runs) * number as f64;
                format!("{} ± {}", percent(rate * number as f64), percent(error))
            });
            row(out, [rule.name(), noise.name()].into_iter().chain(rates));
        }
    }
}

fn shapes(out: &mut String, size: &Size, results: &Results) {
    let title = format!(
        "Changes of shape: regression / no regression, %, and mean pairs (at most {})",
        size.patience
    );
    let names = rules().iter().map(|rule| rule.name()).collect();
    head(out, &title, &[words(&["change", "noise"]), names].concat());
    for (name, shape) in SHAPES {
        for noise in SHAPE_NOISES {
            let cells = rules().into_iter().map(|rule| {
                let tally = results.of(&size.with_shape(rule, noise, shape));
                format!("{}, {:.0}", tally.rates(0), tally.mean_pairs())
            });
            row(out, [name.to_owned(), noise.name()].into_iter().chain(cells));
        }
    }
}

/// The rule of the mean on two-point noise, computed exactly.
fn exact(out: &mut String, horizon: u64) {
    let title = format!(
        "`mean` on two-point noise, computed exactly: wrong verdicts of either kind within \
         {horizon} pairs, as a share of the promised rate"
    );
    let levels = [0.2, 0.07, 0.05, 0.02, 0.0125, 0.01, 0.001, 1e-4, 1e-5];
    head(
        out,
        &title,
        &[words(&["level"]), levels.map(|level| format!("{level}")).to_vec()].concat(),
    );
    let shares = levels.map(|level| {
        let boundary = |n: u64| {
            let share = t_squared(n, level).map_or(f64::INFINITY, |t| t / (1.0 + t));
            n as f64 * share.sqrt()
        };
        format!("{:.3}", ever_wrong(horizon, boundary) / level)
    });
    row(out, std::iter::once("share".to_owned()).chain(shares));
    let least = Estimator::ALL.map(|estimator| {
        let least = estimator.least_pairs(Levels::new(0.95, 1)).unwrap_or(0);
        format!("`{estimator}` {least}")
    });
    let _ = writeln!(
        out,
        "\nThe smallest number of pairs with which a verdict is possible at 5 %: {}.",
        least.join(", ")
    );
}

/// Cases in which the promise does not hold.
pub fn broken<C: Simulated>(out: &mut String, results: &Results<C>) {
    let broken = results.broken();
    let _ = writeln!(
        out,
        "\nOf {} simulated cells that are covered by a promise, {} exceed it by more than three \
         standard errors.",
        results.claims(),
        broken.len()
    );
    for (cell, tally) in broken {
        let (alarms, clears) = (tally.alarm_rate(), tally.clear_rate());
        let _ = writeln!(out, "- {cell:?}: alarms {alarms}, all-clears {clears}");
    }
}

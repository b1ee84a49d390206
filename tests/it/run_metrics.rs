//! The study of the cost of a verdict about a suite: its figures compared with closed
//! forms, and the pages that show them.

#[allow(dead_code, unreachable_pub)]
#[path = "../../examples/run-metrics/costs.rs"]
mod costs;
#[allow(dead_code, unreachable_pub)]
#[path = "../../examples/run-metrics/metrics.rs"]
mod metrics;
#[cfg(unix)]
#[allow(dead_code, unreachable_pub)]
#[path = "../../examples/run-metrics/record.rs"]
mod record;
#[allow(dead_code, unreachable_pub)]
#[path = "../../examples/run-metrics/recording.rs"]
mod recording;
#[allow(dead_code, unreachable_pub)]
#[path = "../../examples/run-metrics/shapes.rs"]
mod shapes;
#[allow(dead_code, unreachable_pub)]
#[path = "../../examples/run-metrics/tables.rs"]
mod tables;
#[allow(dead_code, unreachable_pub)]
#[path = "../../examples/run-metrics/verdicts.rs"]
mod verdicts;

use std::path::{Path, PathBuf};

use cargo_cbdr::model::estimator::Estimator;
use cargo_cbdr::stats::estimator::{Decision, Levels};

use crate::error_rates::noise;

use costs::Costs;
use metrics::{Metric, Sample, values};
use noise::Random;
use recording::{Pair, Run, Series, Way};
use shapes::{Iterations, Planted, Shape};
use verdicts::{End, LIMIT, TESTS, Tally, compare};

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9 * other.abs()
}

/// Ten samples of each run, all the same.
fn steady(seconds: f64, pairs: usize) -> Series {
    let run = Run { values: [50.0; 5], samples: vec![50.0; 10] };
    let pair = Pair { seconds, runs: [run.clone(), run] };
    let text = |text: &str| text.to_owned();
    Series {
        suite: text("s"),
        load: text("l"),
        way: text(Way::SHORTEST.name),
        benchmark: text("b"),
        pairs: vec![pair; pairs],
    }
}

#[test]
fn metrics_are_those_of_their_formulas() {
    let sample = |(iterations, time)| Sample { iterations, time };
    let four = [(1.0, 3.0), (2.0, 4.0), (3.0, 15.0), (4.0, 8.0)].map(sample);
    // An iteration takes 3, 2, 5 and 2.
    assert_eq!(values(&four), [3.0, 2.5, 2.0, 2.5, 88.0 / 30.0]);
    // Of ten the middle half is the third by half, to the eighth by half.
    let mut ten: Vec<Sample> = (1..=10).map(|time| sample((1.0, f64::from(time * time)))).collect();
    let middle = (4.5 + 16.0 + 25.0 + 36.0 + 49.0 + 32.0) / 5.0;
    assert_eq!(values(&ten), [38.5, 30.5, 1.0, middle, 38.5]);
    ten[9].time = 1e6;
    let [mean, median, minimum, trimmed, slope] = values(&ten);
    assert_eq!((median, minimum, trimmed), (30.5, 1.0, middle));
    assert!(mean == slope && mean > 1e5);
    assert_eq!(values(&ten[3..4]), [16.0; 5]);
}

/// Five pairs whose second run takes 1/1.21, 1/1.1, 1, 1.1 and 1.21 times the first, by
/// the mean; by the median twice as far apart; by the others not at all.
fn tiny(folder: &Path) -> PathBuf {
    let mut text =
        "suite,load,way,benchmark,pair,member,seconds,mean,median,minimum,trimmed,slope,\
                    samples\n"
            .to_owned();
    for (pair, power) in [1, -2, 0, 2, -1].into_iter().enumerate() {
        let (mean, median) = (8.0 * 1.1f64.powi(power), 8.0 * 1.1f64.powi(2 * power));
        text += &format!("s,quiet,1/1,b,{pair},0,0.01,8,8,8,8,8,10000 9000\n");
        text += &format!("s,quiet,1/1,b,{pair},1,0.03,{mean},{median},8,8,8,10000 20000\n");
    }
    let path = folder.join("tiny.csv");
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn the_cost_is_the_seconds_of_a_pair_times_the_variance_of_its_ratio() {
    let folder = crate::support::scratch();
    let read = recording::series(recording::rows(&tiny(folder.path())).unwrap()).unwrap();
    let [series] = &read[..] else { panic!("{read:?}") };
    assert_eq!(series.pairs.len(), 5);
    assert_eq!(series.pairs[0].runs[0].samples, [8.0, 7.2]);
    let costs = Costs::of(series).unwrap();
    assert!(near(costs.seconds_a_pair, 0.04));
    // The squares of -2, -1, 0, 1, 2 add up to 10, and their absolute deviations have the
    // median 1.
    let step = 1.1f64.ln().powi(2);
    let [mean, median, ..] = costs.plain;
    assert!(near(mean, 0.04 * 2.5 * step) && near(median, 4.0 * mean), "{costs:?}");
    let [mean, median, ..] = costs.typical;
    assert!(near(mean, 0.04 * 1.4826f64.powi(2) * step) && near(median, 4.0 * mean), "{costs:?}");
    assert_eq!((&costs.plain[2..], &costs.typical[2..]), (&[0.0; 3][..], &[0.0; 3][..]));

    let twice = Costs { seconds_a_pair: 0.08, ..costs };
    let middle = Costs::median(&[costs, twice]).unwrap();
    assert!(near(middle.seconds_a_pair, 0.06) && middle.plain == costs.plain);
    assert_eq!(Costs::median(&[]), None);
    assert_eq!(Costs::of(&steady(0.1, 2)), None);

    let table = tables::costs(&[series]);
    assert_eq!(tables::loads(&read), ["quiet"]);
    let row = "| one benchmark a process, 1/1 ms | 40 | 8.0e-4 (9.1e-4) |";
    assert!(table.contains(row), "{table}");
}

#[test]
fn rows_that_make_no_pairs_are_errors_that_name_them() {
    let folder = crate::support::scratch();
    let path = tiny(folder.path());
    let whole = std::fs::read_to_string(&path).unwrap();
    let broken = |from: &str, to: &str| {
        assert!(whole.contains(from), "{from}");
        std::fs::write(&path, whole.replacen(from, to, 1)).unwrap();
        let read = recording::rows(&path).and_then(recording::series);
        read.map(|_| ()).unwrap_err().to_string()
    };
    assert!(broken("b,3,0,", "c,3,0,").contains("pair 3 of `c` of s, 1/1, quiet: expected"));
    assert!(broken("b,2,1,0.03,", "b,2,1,-1,").contains("-1 is no positive number"));
    assert!(broken("b,2,1,0.03,", "b,2,1,fast,").contains("tiny.csv"));
}

#[test]
fn without_noise_a_verdict_takes_the_least_pairs_and_their_time() {
    let series = steady(0.5, 3);
    let alarm = Estimator::Robust.least_pairs(Levels::new(0.95, TESTS)).unwrap();
    assert!(alarm < 14, "an alarm needs fewer pairs than an all-clear");
    for metric in Metric::ALL {
        let end = compare(&series, metric, 0.0, 1);
        let expected = End { decision: Some(Decision::NoRegression), pairs: 14, seconds: 7.0 };
        assert_eq!(end, expected, "{metric:?}");
        let end = compare(&series, metric, 0.1, 1);
        let seconds = 0.5 * alarm as f64;
        let decision = Some(Decision::Regression);
        assert_eq!(end, End { decision, pairs: alarm, seconds }, "{metric:?}");
    }
    // The ninth pair does not fit into the minute.
    let slow = compare(&steady(7.0, 3), Metric::Mean, 0.1, 1);
    assert_eq!(slow, End { decision: None, pairs: 8, seconds: 56.0 });
}

#[test]
fn a_tally_counts_what_is_late_open_and_wrong() {
    let end = |decision, pairs, seconds| End { decision, pairs, seconds };
    let (alarm, clear) = (Some(Decision::Regression), Some(Decision::NoRegression));
    let early = LIMIT / TESTS as f64;
    let ends = [
        end(clear, 14, early),
        end(clear, 20, early + 0.1),
        end(alarm, 16, 2.0),
        end(None, 900, 59.9),
    ];
    let tally = Tally::of(&ends, Decision::NoRegression);
    assert_eq!((tally.open_early, tally.open, tally.wrong), (0.5, 0.25, 0.25));
    assert_eq!(tally.pairs, Some(18));
    assert!(near(tally.seconds.unwrap(), early + 0.05));
    // An undecided comparison is longer than any other, whenever it ended.
    let tally = Tally::of(&[ends[0], ends[3], ends[3]], Decision::NoRegression);
    assert_eq!((tally.pairs, tally.seconds), (None, None));
}

#[test]
fn the_true_change_of_drawn_pairs_is_none() {
    let mut series = steady(0.1, 20);
    for pair in &mut series.pairs {
        pair.runs[1].values = [60.0; 5];
    }
    // The second run of every pair is slower, and is the base about as often as the head.
    let mut draw = verdicts::Draw::new(&series, 3);
    let slower = (0..1000).filter(|_| draw.pair().1.values[0] > 55.0).count();
    assert!((450..=550).contains(&slower), "{slower}");
}

fn ends(shape: Shape, iterations: Iterations) -> [End; 5] {
    Planted::new(&steady(0.1, 5), shape, iterations).unwrap().compare(5)
}

/// The metrics without noise: mean, median, minimum, trimmed mean and slope.
fn said(shape: Shape, iterations: Iterations) -> [Option<bool>; 5] {
    ends(shape, iterations).map(|end| end.decision.map(|decision| decision == Decision::Regression))
}

#[test]
fn each_metric_is_blind_to_what_its_formula_leaves_out() {
    let (slower, same) = (Some(true), Some(false));
    use Iterations::{One, Tens, Thousands};
    assert_eq!(said(Shape::Same, One), [same; 5]);
    // A tail within a sample moves every sample.
    assert_eq!(said(Shape::Iterations(10.0), Thousands), [slower; 5]);
    assert_eq!(said(Shape::Iterations(1000.0), Thousands), [same; 5]);
    assert_eq!(said(Shape::Iterations(10.0), Tens)[..2], [slower; 2]);
    // One sample in ten is slower.
    assert_eq!(said(Shape::Iterations(10.0), One)[..3], [slower, same, same]);
    // The median of ten lies between the fifth and the sixth.
    assert_eq!(said(Shape::Samples(2), One), [slower, slower, same, slower, slower]);
    assert_eq!(said(Shape::Samples(4), One)[..3], [slower, same, same]);
    // A run that is slower as a whole is slower by every metric.
    assert_eq!(said(Shape::Processes, One), [slower; 5]);
    for shape in [Shape::Processes, Shape::Runs, Shape::WorstRuns] {
        let [mean, others @ ..] = ends(shape, One);
        let alike = |end: &End| (end.decision, end.pairs) == (mean.decision, mean.pairs);
        assert!(others.iter().all(alike), "{shape:?} {mean:?} {others:?}");
    }
}

#[test]
fn the_hits_among_iterations_are_as_many_as_their_probability_says() {
    let mut random = Random::seeded(7);
    for (iterations, probability) in [(1.0, 0.1), (10.0, 0.1), (5000.0, 0.01)] {
        let draws: Vec<f64> =
            (0..4000).map(|_| shapes::hits(iterations, probability, &mut random)).collect();
        let mean = draws.iter().sum::<f64>() / 4000.0;
        let variance = iterations * probability * (1.0 - probability);
        let error = (variance / 4000.0).sqrt();
        assert!((mean - iterations * probability).abs() < 4.0 * error, "{mean}");
        let spread = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / 4000.0;
        assert!((0.85..1.15).contains(&(spread / variance)), "{spread} {variance}");
    }
}

#[test]
fn the_page_shows_what_the_study_prints_of_the_recordings() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<PathBuf> = std::fs::read_dir(root.join("fixtures/runs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "csv"))
        .collect();
    files.sort();
    let rows = files.iter().flat_map(|file| recording::rows(file).unwrap()).collect();
    let series = recording::series(rows).unwrap();
    let page = std::fs::read_to_string(root.join("docs/data/run-metrics.md")).unwrap();
    for load in tables::loads(&series) {
        let under: Vec<&Series> = series.iter().filter(|one| one.load == load).collect();
        for table in [tables::costs(&under), tables::suites(&under)] {
            assert!(table.lines().count() > 9, "{table}");
            assert!(page.contains(&table), "docs/data/run-metrics.md lacks\n{table}");
        }
    }
    let conclusions = std::fs::read_to_string(root.join("docs/suites.md")).unwrap();
    let shown: Vec<&str> = conclusions.lines().filter(|line| line.starts_with('|')).collect();
    assert!(shown.len() > 5, "{shown:?}");
    // The table of the number for a whole suite is that of another study.
    let other = std::fs::read_to_string(root.join("docs/data/suite-number.md")).unwrap();
    for line in shown {
        let mut printed = page.lines().chain(other.lines());
        assert!(printed.any(|printed| printed == line), "no study prints {line}");
    }
}

/// Programs with the command line and the files of criterion.
#[cfg(unix)]
mod recorder {
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use cargo_cbdr::exec::process::{Command, Sink};

    use super::record::{Runner, Suite};
    use super::*;

    /// Lists two benchmarks and one whose name is another one every time; writes a
    /// sample of 2 iterations in 6 ns, and one of 4 in 20, of those that the filter has.
    const CRITERION: &str = r#"#!/bin/sh
case "$*" in
*--list*) echo 'new/a(1): benchmark'; echo; echo two: bench; echo "at $$: benchmark"; exit ;;
esac
echo "$*" >> calls
for filter; do :; done
for name in 'new/a(1)' two; do
    case "$filter" in *"${name%%(*}"*) ;; *) continue ;; esac
    new="$CRITERION_HOME/$name/new"
    mkdir -p "$new"
    echo "{\"full_id\":\"$name\"}" > "$new/benchmark.json"
    echo '{"sampling_mode":"Linear","iters":[2,4],"times":[6,20]}' > "$new/sample.json"
done
"#;

    fn run(command: &Command) -> Result<f64, Box<dyn std::error::Error>> {
        let file = |sink: &Sink| match sink {
            Sink::File(path) => std::fs::File::create(path).unwrap().into(),
            _ => std::process::Stdio::null(),
        };
        let status = std::process::Command::new(&command.argv[0])
            .args(&command.argv[1..])
            .env_clear()
            .envs(command.env.iter().cloned())
            .current_dir(&command.cwd)
            .stdout(file(&command.stdout))
            .stderr(file(&command.stderr))
            .status()?;
        if status.success() { Ok(0.25) } else { Err("failed".into()) }
    }

    fn program(package: &Path, text: &str) -> PathBuf {
        let path = package.join("target/release/deps/bench-1");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn a_round_has_a_pair_of_every_benchmark_in_every_way() {
        let package = crate::support::scratch();
        let executable = program(package.path(), CRITERION);
        let runner: &Runner = &run;
        let suite = Suite::find(runner, &[executable]).unwrap();
        let out = package.path().join("out.csv");
        let file = std::fs::File::create(&out).unwrap();
        assert_eq!(suite.record("quiet", Duration::ZERO, file).unwrap(), 1);

        let rows = recording::rows(&out).unwrap();
        let name = package.path().file_name().unwrap().to_str().unwrap();
        for row in &rows {
            assert_eq!((row.suite.as_str(), row.load.as_str()), (name, "quiet"));
            assert_eq!(row.values(), [4.33333, 4.0, 3.0, 4.0, 4.6]);
            assert_eq!(row.seconds, if row.way == "suite 50/100" { 0.125 } else { 0.25 });
            assert_eq!(row.samples, if row.way == "1/1" { "7500 12500" } else { "" });
        }
        let series = recording::series(rows).unwrap();
        assert_eq!(series.len(), 2 * Way::ALL.len());
        for one in &series {
            let way = Way::ALL.into_iter().find(|way| way.name == one.way).unwrap();
            assert_eq!(one.pairs.len(), way.pairs as usize, "{one:?}");
            assert!(["new/a(1)", "two"].contains(&one.benchmark.as_str()), "{one:?}");
        }
        // The suite runs in one process, each time, where its package is.
        let calls = std::fs::read_to_string(package.path().join("calls")).unwrap();
        let whole: Vec<&str> = calls.lines().filter(|line| line.contains('|')).collect();
        assert_eq!(whole.len(), 2, "{calls}");
        assert!(whole[0].ends_with(r"--measurement-time 0.1 ^(?:new/a\(1\)|two)$"), "{calls}");
        let shortest = "--warm-up-time 0.001 --measurement-time 0.001 ^(?:two)$";
        assert_eq!(calls.lines().filter(|line| line.ends_with(shortest)).count(), 4, "{calls}");
    }

    #[test]
    fn a_program_that_fails_or_lists_nothing_is_named() {
        let package = crate::support::scratch();
        let runner: &Runner = &run;
        let broken = program(package.path(), "#!/bin/sh\necho no texts >&2\nexit 3\n");
        let error = Suite::find(runner, &[broken]).err().unwrap().to_string();
        assert!(error.contains("bench-1` failed: no texts"), "{error}");
        let silent = program(package.path(), "#!/bin/sh\n");
        let error = Suite::find(runner, &[silent]).err().unwrap().to_string();
        assert!(error.contains("bench-1` lists no benchmarks; name criterion's"), "{error}");
    }
}

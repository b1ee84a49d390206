//! Any commands in turn: rows, their order, and every way to end.

use std::io::{BufRead, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::support::live::heed_signals;
use crate::support::{Cbdr, Ran};

fn cbdr(folder: &Path) -> Cbdr {
    Cbdr::new(folder, &folder.join("cache"))
}

#[track_caller]
fn sample(args: &[&str]) -> Ran {
    let folder = crate::support::scratch();
    cbdr(folder.path()).args(["sample"]).args(args).run()
}

fn labels(rows: &str) -> String {
    rows.lines().skip(1).map(|row| row.split(',').next().unwrap()).collect()
}

#[test]
fn a_coin_decides_which_of_two_commands_is_first() {
    let args = ["a:true", "b:true", "--rounds", "20", "--seed", "3"];
    let ran = sample(&args).code(0);
    let header = "benchmark,wall_time,user_time,sys_time,cpu_time,max_rss,minor_faults,\
                  major_faults,voluntary_switches,involuntary_switches\n";
    assert!(ran.stdout.starts_with(header));
    let order = labels(&ran.stdout);
    assert_eq!(order.len(), 40);
    assert!(order.starts_with("ab"));
    let rounds: Vec<&str> = (0..20).map(|round| &order[2 * round..2 * round + 2]).collect();
    assert!(rounds.iter().all(|round| ["ab", "ba"].contains(round)), "{order}");
    for neighbours in [["ab", "ab"], ["ab", "ba"], ["ba", "ab"], ["ba", "ba"]] {
        assert!(rounds.windows(2).any(|two| two == neighbours), "{order}");
    }
    // The seed is all there is to the order.
    assert_eq!(labels(&sample(&args).stdout), order);
    for row in ran.stdout.lines().skip(1) {
        let values = row.split(',').skip(1).map(|value| value.parse::<f64>().unwrap());
        let values: Vec<f64> = values.collect();
        assert!(values.len() == 9 && values.iter().all(|value| *value >= 0.0));
        assert!(values[0] > 0.0 && values[4] > 0.0);
    }
}

#[test]
fn three_commands_have_each_slot_equally_often() {
    let args = ["a:true", "b:true", "c:true", "--max-pairs", "6"];
    let order = labels(&sample(&args).code(0).stdout);
    assert!(order.starts_with("abc"));
    for slot in 0..3 {
        let mut there: Vec<char> = order.chars().skip(slot).step_by(3).collect();
        there.sort_unstable();
        assert_eq!(there, ['a', 'a', 'b', 'b', 'c', 'c'], "{order}");
    }
}

#[test]
fn words_are_split_as_a_shell_would_and_colons_may_follow() {
    let ran = sample(&["x:sh -c 'test $0:$1 = a:b' a b", "y:true", "--rounds", "1"]);
    assert_eq!(labels(&ran.code(0).stdout), "xy");
}

#[test]
fn commands_run_in_this_folder_and_environment() {
    let folder = crate::support::scratch();
    let below = folder.path().join("below");
    std::fs::create_dir(&below).unwrap();
    std::fs::write(below.join("run.sh"), "test \"$WORD\" = 'a word'\n").unwrap();
    let args = ["sample", "a:sh run.sh", "b:sh ./run.sh", "--rounds", "1"];
    cbdr(folder.path()).args(args).env("WORD", "a word").folder(&below).run().code(0);
}

#[test]
fn a_command_that_fails_is_an_error_with_its_last_words() {
    let ran = sample(&["a:true", "b:sh -c 'echo my last words >&2; exit 3'"]).code(101);
    ran.says("error: `b` exited with code 3: `sh -c ").says("my last words");
    let ran = sample(&["b:sleep 1000", "--run-timeout", "50ms"]).code(101);
    ran.says("error: `b` ran longer than 50ms: `sleep 1000`").says("hint: raise");
    sample(&["a:/no/such/program"]).code(101).says("error: could not start `/no/such/program`");
}

#[test]
fn what_is_no_named_command_is_a_mistake_of_the_command_line() {
    sample(&["true"]).code(2).says("invalid command `true`: write it as `NAME:COMMAND`");
    sample(&[":true"]).code(2).says("write it as `NAME:COMMAND`");
    sample(&["a:"]).code(2).says("invalid command");
    sample(&["a:true", "a:false"]).code(2).says("another command has this name");
    sample(&[]).code(2);
    let ran = sample(&["a:true", "--rounds", "0"]).code(2);
    ran.says("'0' for '--rounds <N>': it must be at least 1\n");
}

/// Runs a script that, once the file `hang` is there, writes its number and
/// hangs; returns when it does that.
fn hanging(folder: &Path) -> (Child, BufReader<std::process::ChildStdout>, String) {
    let script = "if [ -e hang ]; then echo $$ > number; exec sleep 1000; fi";
    std::fs::write(folder.join("run.sh"), script).unwrap();
    let mut command = cbdr(folder).args(["sample", "a:true", "b:sh run.sh"]).into_command();
    heed_signals(&mut command);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut rows = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    for _ in 0..3 {
        rows.read_line(&mut line).unwrap();
    }
    std::fs::write(folder.join("hang"), "").unwrap();
    let number = folder.join("number");
    while !std::fs::read_to_string(&number).is_ok_and(|text| text.ends_with('\n')) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let number = std::fs::read_to_string(&number).unwrap().trim().to_owned();
    (child, rows, number)
}

/// Whether a process is there, and not only waiting to be reaped.
fn lives(number: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
    !status.is_empty() && !status.contains(") Z")
}

#[test]
fn when_nobody_reads_any_more_it_ends_quietly_and_so_does_what_it_runs() {
    let folder = crate::support::scratch();
    let (mut child, rows, number) = hanging(folder.path());
    drop(rows);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!lives(&number));
}

#[test]
fn no_run_is_stopped_where_all_signals_were_ignored_from_the_start() {
    let folder = crate::support::scratch();
    // Longer than the time after which a program is killed that was asked to end and ignores it.
    let args = ["sample", "a:sleep 2.2", "--rounds", "1", "--warmup", "0"];
    let mut command = cbdr(folder.path()).args(args).into_command();
    // SAFETY: signal is async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                libc::signal(signal, libc::SIG_IGN);
            }
            Ok(())
        });
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_signal_ends_it_with_whole_rounds() {
    let folder = crate::support::scratch();
    let (mut child, rows, number) = hanging(folder.path());
    // SAFETY: sends a signal to a child that nobody has waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let left: Vec<String> = rows.lines().map(Result::unwrap).collect();
    assert_eq!(left.len() % 2, 0, "{left:?}");
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGINT));
    assert!(!lives(&number));
}

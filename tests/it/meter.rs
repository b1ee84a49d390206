//! Values from sources other than the clock, and the messages if there are none.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{
    Cbdr, Ran, Repo, branch_with, make_executable, metric, search_path, skipped, static_linking,
};

fn names(object: &Value) -> Vec<&str> {
    let metrics = object["benchmarks"][0]["metrics"].as_array().unwrap();
    metrics.iter().map(|metric| metric["name"].as_str().unwrap()).collect()
}

fn in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Whether there is a valgrind. If not, prints what is not tested.
pub(crate) fn has_valgrind() -> bool {
    let found = in_path("valgrind").is_some();
    if !found {
        skipped("valgrind is not in the PATH (`.ci/run` installs it)");
    }
    found
}

pub(crate) fn has_objdump() -> bool {
    let found = in_path("objdump").is_some();
    if !found {
        skipped("objdump is not in the PATH (it comes with binutils)");
    }
    found
}

/// Whether perf is there and may take samples.
pub(crate) fn has_perf() -> bool {
    let folder = crate::support::scratch();
    let mut perf = std::process::Command::new("perf");
    perf.args(["record", "--no-bpf-event", "--no-buildid", "--event", "task-clock:u", "--output"]);
    perf.arg(folder.path().join("data"));
    let output = perf.args(["--", "true"]).output();
    let can = output.is_ok_and(|output| output.status.success());
    if !can {
        skipped("perf is not in the PATH, or may take no samples here");
    }
    can
}

/// Runs commands in turn and returns their rows, with the header's names.
#[track_caller]
fn sample(args: &[&str]) -> Ran {
    let folder = crate::support::scratch();
    Cbdr::new(folder.path(), folder.path()).args(["sample"]).args(args).run()
}

/// The values of a column.
#[track_caller]
fn column(ran: &Ran, name: &str) -> Vec<f64> {
    let mut lines = ran.stdout.lines();
    let at = lines.next().unwrap().split(',').position(|column| column == name).unwrap();
    lines.map(|line| line.split(',').nth(at).unwrap().parse().unwrap()).collect()
}

const COUNTED: &str =
    "--metric instructions_cachegrind --threshold 0.5% --layouts off --format json";

#[test]
fn one_per_cent_of_work_is_counted_in_eight_pairs() {
    if !has_valgrind() {
        return;
    }
    // 101 for 100.
    let repo = Repo::new("steady");
    repo.write(".cargo/config.toml", &static_linking());
    repo.commit("linked statically");
    repo.branch("feature");
    repo.replace("src/lib.rs", "500_000", "505_500");
    repo.commit("more");
    let args = format!("compare main {COUNTED} --samples ../samples.csv");
    let object = repo.cbdr(&args).run().code(100).json();
    assert_eq!(object["verdict"], "regression");
    assert!(object["benchmarks"][0]["pairs"].as_u64().unwrap() <= 8, "{object}");
    let counted = metric(&object, "instructions_cachegrind");
    assert_eq!(counted["unit"], "count");
    let change = counted["change"].as_f64().unwrap();
    assert!((0.009..0.0112).contains(&change), "{change}");
    // Under valgrind no time is measured.
    assert_eq!(names(&object), ["instructions_cachegrind"]);
    // The number of rounds is in the code that counts them.
    let notices = object["notices"].as_array().unwrap();
    let is_of_functions = |notice: &Value| {
        notice
            .as_str()
            .unwrap()
            .starts_with("the code of 1 function of `work` differs between the sides")
    };
    assert!(matches!(&**notices, [one] if is_of_functions(one)), "{notices:?}");
    // Each side's count is the same in all runs.
    let mut counts = counts(&repo.around().join("samples.csv"));
    counts.sort_unstable();
    counts.dedup();
    assert_eq!(counts.len(), 2, "{counts:?}");
}

/// The labels and counts of samples that have nothing else.
fn counts(samples: &Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(samples).unwrap();
    let cells = |row: &str| row.split_once(',').map(|(one, other)| (one.into(), other.into()));
    text.lines().skip(1).map(|row| cells(row).unwrap()).collect()
}

/// A valgrind that runs nothing and counts so many instructions of each side, and a PATH with it.
fn counting(repo: &Repo, [base, head]: [u32; 2]) -> OsString {
    let folder = repo.around().join("bin");
    std::fs::create_dir_all(&folder).unwrap();
    let script = format!(
        "#!/bin/sh\nfor word; do case $word in --cachegrind-out-file=*) out=${{word#*=}} ;; esac; done\n\
         case $PWD in */head/*) count={head} ;; *) count={base} ;; esac\n\
         printf 'events: Ir Dr Dw\\nsummary: %s 5 5\\n' $count > \"${{out%'%p'}}$$\"\n"
    );
    std::fs::write(folder.join("valgrind"), script).unwrap();
    make_executable(&folder.join("valgrind"));
    let folders = std::iter::once(folder).chain(std::env::split_paths(search_path()));
    std::env::join_paths(folders).unwrap()
}

#[test]
fn equal_counts_are_decided_in_eight_pairs() {
    let repo = branch_with("400_000");
    let path = counting(&repo, [700_000; 2]);
    let args = format!("compare main {COUNTED} --command true --samples ../samples.csv");
    let object = repo.cbdr(&args).env("PATH", path).run().code(0).json();
    assert_eq!(object["verdict"], "no-regression");
    assert_eq!(object["benchmarks"][0]["pairs"], 8, "{object}");
    let counted = metric(&object, "instructions_cachegrind");
    assert_eq!([&counted["lower"], &counted["change"], &counted["upper"]], [0.0; 3]);
    // And the samples have the same.
    let counts = counts(&repo.around().join("samples.csv"));
    assert!(counts.iter().all(|(_, count)| *count == counts[0].1), "{counts:?}");
}

#[test]
fn a_plain_run_and_one_under_valgrind_make_a_sample_until_the_count_is_decided() {
    let repo = branch_with("400_000");
    let path = counting(&repo, [500_000, 50_000]);
    let args = "compare main --metric cpu_time,instructions_cachegrind --show \
                estimated_cycles_cachegrind --threshold 50% --max-pairs 40 --command true \
                --samples ../samples.csv --format json";
    let object = repo.cbdr(args).env("PATH", path).run().code(0).json();
    let counted = metric(&object, "instructions_cachegrind");
    assert_eq!(counted["verdict"], "no-regression");
    assert_eq!(counted["head"].as_f64().unwrap().round(), 50_000.0);
    assert_eq!(metric(&object, "estimated_cycles_cachegrind")["gates"], false);
    assert_eq!(metric(&object, "wall_time")["gates"], false);
    let text = std::fs::read_to_string(repo.around().join("samples.csv")).unwrap();
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = |name: &str| header.iter().position(|column| *column == name).unwrap();
    let (time, count) = (at("cpu_time"), at("instructions_cachegrind"));
    let mut counted = 0;
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        assert!(!cells[time].is_empty());
        counted += usize::from(!cells[count].is_empty());
    }
    // Eight pairs decide about equal counts, more about times.
    assert_eq!(counted, 16);
    assert!(object["benchmarks"][0]["pairs"].as_u64().unwrap() > 8, "{object}");
}

/// Executes itself so often as a child that does a little work. It is linked statically where that
/// can be, since valgrind starts such a program faster than a shell.
const PARENT: &str = r#"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **words) {
    if (count < 2)
        for (volatile int round = 0; round < 20000; round++) {}
    for (int left = count < 2 ? 0 : atoi(words[1]); left > 0; left--) {
        if (fork() == 0)
            return execl(words[0], words[0], (char *)0);
        wait(0);
    }
    return 0;
}
"#;

#[test]
fn children_are_counted_too_and_what_they_did_under_valgrind_is_the_same_each_time() {
    if !has_valgrind() {
        return;
    }
    let folder = crate::support::scratch();
    let [source, program] = ["parent.c", "parent"].map(|name| folder.path().join(name));
    std::fs::write(&source, PARENT).unwrap();
    let mut cc = std::process::Command::new("cc");
    cc.args(static_linking().contains("crt-static").then_some("-static"));
    assert!(cc.arg("-o").args([&program, &source]).status().unwrap().success());
    let metrics = "instructions_cachegrind,estimated_cycles_cachegrind";
    let [none, one] = [("own", 0), ("one", 1)]
        .map(|(name, count)| format!("{name}:{} {count}", program.display()));
    let ran = sample(&[&none, &one, "--metric", metrics, "--rounds", "2"]).code(0);
    let labels: Vec<&str> = ran.stdout.lines().skip(1).map(|row| &row[..3]).collect();
    let of = |label: &str, name: &str| -> Vec<f64> {
        let values = labels.iter().zip(column(&ran, name));
        values.filter(|(found, _)| **found == label).map(|(_, value)| value).collect()
    };
    for name in metrics.split(',') {
        let (none, one) = (of("own", name), of("one", name));
        assert_eq!((none[0], one[0]), (none[1], one[1]), "{name}");
        // A child has some ten thousand instructions.
        assert!(one[0] > none[0] + 10_000.0, "{name}: {none:?} {one:?}");
    }
}

#[test]
fn a_program_that_fails_under_valgrind_fails() {
    if !has_valgrind() {
        return;
    }
    let ran = sample(&["a:sh -c 'exit 3'", "--metric", "instructions_cachegrind"]).code(101);
    ran.says("`a` exited with code 3");
}

#[test]
fn without_valgrind_the_error_says_how_to_get_it() {
    let repo = branch_with("400_000");
    let folder = repo.around().join("bin");
    std::fs::create_dir(&folder).unwrap();
    let folders: Vec<PathBuf> = std::env::split_paths(search_path()).collect();
    for program in ["cargo", "rustc", "git", "true"] {
        let mut found = folders.iter().map(|folder| folder.join(program));
        let found = found.find(|path| path.is_file()).unwrap();
        std::os::unix::fs::symlink(found, folder.join(program)).unwrap();
    }
    let args = "compare main --command true --metric instructions_cachegrind";
    let ran = repo.cbdr(args).env("PATH", &folder).run().code(101);
    let ran =
        ran.says("`instructions_cachegrind` can't be measured: `valgrind` is not on the PATH");
    ran.says("hint: install it");
}

#[test]
fn a_name_that_nobody_knows_is_an_error_with_the_nearest_one() {
    let repo = branch_with("400_000");
    let call = "compare main --command true";
    let ran = repo.cbdr(&format!("{call} --metric instructions_cachegrin")).run().code(101);
    ran.says("did you mean `instructions_cachegrind`?");
    let ran = repo.cbdr(&format!("{call} --show brnches")).run().code(101);
    ran.says("no run of `true` measured `brnches`").says("did you mean `branches`?");
    let ran = sample(&["a:true", "--metric", "pagefaults"]).code(101);
    ran.says("there is no metric `pagefaults`").says("did you mean `page_faults`?");
}

#[test]
fn what_has_benchmarks_has_no_counts_of_its_process() {
    let repo = Repo::new("steady");
    repo.write("run.sh", "echo 'test a ... bench: 12 ns/iter (+/- 1)'\n");
    repo.commit("a benchmark");
    repo.branch("feature");
    repo.write("run.sh", "echo 'test a ... bench: 13 ns/iter (+/- 1)'\n");
    repo.commit("slower");
    let cbdr = repo.cbdr("compare main --harness libtest --metric instructions_cachegrind");
    let ran = cbdr.args(["--command", "sh run.sh"]).run().code(101);
    ran.says("`instructions_cachegrind` measures a process").says("`--harness plain`");
}

#[test]
fn sizes_need_no_run() {
    let repo = Repo::new("steady");
    repo.branch("feature");
    repo.replace(
        "benches/work.rs",
        "fn main() {",
        "static TABLE: [u8; 100_000] = [7; 100_000];\nfn main() {\n    \
         black_box(&TABLE);\n    if std::env::args().count() > 3 {\n        \
         println!(\"{:?}\", std::fs::read_dir(\"/\"));\n    }",
    );
    repo.commit("grow");
    let args = "compare main --metric executable_bytes,text_bytes --threshold 10% \
                --threshold text_bytes=0% --layouts off --format json";
    let ran = repo.cbdr(args).run().code(100);
    let object = ran.json();
    assert_eq!(names(&object), ["executable_bytes", "text_bytes"]);
    assert_eq!(object["benchmarks"][0]["pairs"], 0);
    assert_eq!(
        (&object["stopped_by"], &object["elapsed_seconds"]),
        (&json!("verdict"), &json!(0.0))
    );
    let (file, text) = (metric(&object, "executable_bytes"), metric(&object, "text_bytes"));
    assert_eq!((&file["verdict"], &text["verdict"]), (&json!("regression"), &json!("regression")));
    for size in [file, text] {
        assert!(size["head"].as_u64().is_none(), "a number with a point, as all others");
        assert_eq!([&size["lower"], &size["upper"]], [&size["change"]; 2]);
    }
    let grown = file["head"].as_f64().unwrap() - file["base"].as_f64().unwrap();
    assert!((100_000.0..200_000.0).contains(&grown), "{grown}");
    ran.never_says("Warming up").never_says("Sampling");
    // With time, both.
    let args = "compare main --metric cpu_time,executable_bytes --threshold 60% \
                --max-pairs 30 --layouts off --format json";
    let object = repo.cbdr(args).run().code(0).json();
    assert_eq!(metric(&object, "executable_bytes")["verdict"], "no-regression");
    assert!(object["benchmarks"][0]["pairs"].as_u64().unwrap() > 0);
}

#[test]
fn the_size_of_a_program_that_is_no_sides_own_says_nothing() {
    let repo = branch_with("400_000");
    let args = "compare main --metric executable_bytes --command sh";
    repo.cbdr(args).run().code(101).says("`executable_bytes` is meaningless: both sides run `sh`");
}

#[cfg(target_os = "linux")]
mod counters {
    use super::*;
    use std::os::unix::process::CommandExt;

    /// Makes `perf_event_open` fail with `error` in this process and the program that it
    /// executes, as the seccomp profile of a container does.
    fn forbid(error: i32) -> std::io::Result<()> {
        let statement = |code: u32, k: u32, (jt, jf): (u8, u8)| libc::sock_filter {
            code: code as u16,
            jt,
            jf,
            k,
        };
        let ret = |action: u32| statement(libc::BPF_RET | libc::BPF_K, action, (0, 0));
        let mut filter = [
            // The number of the system call is the first word.
            statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, (0, 0)),
            statement(
                libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
                libc::SYS_perf_event_open as u32,
                (0, 1),
            ),
            ret(libc::SECCOMP_RET_ERRNO | error as u32),
            ret(libc::SECCOMP_RET_ALLOW),
        ];
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        // SAFETY: plain numbers, and a program that outlives the call.
        let refused = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
                    != 0
        };
        if refused { Err(std::io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Runs it where the system call fails with `error`.
    fn forbidden(cbdr: Cbdr, error: i32) -> (Option<i32>, String, String) {
        let mut command = cbdr.into_command();
        // SAFETY: only system calls between fork and exec.
        unsafe { command.pre_exec(move || forbid(error)) };
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }

    #[test]
    fn a_refused_counter_that_decides_is_an_error_that_names_the_cause() {
        let repo = branch_with("400_000");
        for (error, piece, hint) in [
            (libc::EPERM, "seccomp", "--cap-add PERFMON"),
            (libc::ENOSYS, "this system has no `perf_event_open`", "instructions_cachegrind"),
            (libc::ENOENT, "has no such counter", "instructions_cachegrind"),
        ] {
            let cbdr = repo.cbdr("compare main --command true --metric instructions");
            let (code, stdout, stderr) = forbidden(cbdr, error);
            assert_eq!((code, stdout.as_str()), (Some(101), ""), "{stderr}");
            assert!(stderr.contains("error: `instructions` can't be measured: "), "{stderr}");
            let virtual_or_not = stderr.contains(piece)
                || error == libc::ENOENT && stderr.contains("neither the processor");
            let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
            let strict = level.is_ok_and(|level| level.trim().parse::<i64>().unwrap() > 2);
            let by_setting = error == libc::EPERM && strict;
            assert!(by_setting || virtual_or_not, "{stderr}");
            assert!(by_setting || stderr.contains(hint), "{stderr}");
            assert!(stderr.contains("Caused by:"), "{stderr}");
        }
    }

    #[test]
    fn a_refused_counter_that_is_only_shown_is_a_notice() {
        let repo = branch_with("400_000");
        let args = "compare main --max-pairs 6 --threshold 900% --command true \
                    --show branch_misses --format json";
        let (code, stdout, stderr) = forbidden(repo.cbdr(args), libc::EPERM);
        assert_eq!(code, Some(0), "{stderr}");
        assert!(stderr.contains("warning: `true`: `branch_misses` can't be measured"), "{stderr}");
        let object: Value = serde_json::from_str(&stdout).unwrap();
        assert!(!names(&object).contains(&"branch_misses"));
        let notices = object["notices"].as_array().unwrap();
        assert!(notices.iter().any(|notice| notice.as_str().unwrap().contains("branch_misses")));
    }

    #[test]
    fn the_kernels_own_counters_count_the_program_and_its_children() {
        let args = ["one:sh -c :", "two:sh -c 'sh -c :; :'"];
        let args = [&args[..], &["--metric", "task_clock,page_faults", "--rounds", "4"]].concat();
        let ran = sample(&args);
        if ran.code != Some(0) {
            use std::io::Write;
            let mut err = std::io::stderr().lock();
            let _ = writeln!(err, "SKIPPED: this system forbids counters: {}", ran.stderr);
            return;
        }
        let clock = column(&ran, "task_clock");
        let faults = column(&ran, "page_faults");
        let all = column(&ran, "minor_faults");
        for (row, line) in ran.stdout.lines().skip(1).enumerate() {
            assert!(clock[row] > 0.0 && faults[row] > 0.0, "{line}");
            // Without those in the kernel.
            assert!(faults[row] <= all[row], "{line}");
        }
        let of = |label: &str, values: &[f64]| -> f64 {
            let rows = ran.stdout.lines().skip(1).zip(values);
            let own = rows.filter(|(line, _)| line.starts_with(label)).map(|(_, value)| *value);
            own.fold(f64::INFINITY, f64::min)
        };
        // The shell of the child has its own.
        assert!(of("two", &faults) > 1.5 * of("one", &faults), "{}", ran.stdout);
    }
}

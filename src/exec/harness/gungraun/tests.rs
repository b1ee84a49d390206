use crate::exec::harness::*;

/// A benchmark as each version of the summary tells of it; much is left out.
const SUMMARIES: [&str; 3] = [
    r#"{"callgrind_summary":{"callgrind_run":{"segments":[{"events":{"Ir":{"diffs":null,"metrics":{"Left":1}}}}],"total":{"regressions":[],"summary":{"EstimatedCycles":{"diffs":null,"metrics":{"Left":2664}},"Ir":{"diffs":null,"metrics":{"Left":1789}},"L1hits":{"diffs":null,"metrics":{"Left":2559}},"LLhits":{"diffs":null,"metrics":{"Left":0}},"RamHits":{"diffs":null,"metrics":{"Left":3}}}}}},"function_name":"fib","id":"short","module_path":"calls::one::fib","version":"3"}"#,
    r#"{"function_name":"fib","id":"short","module_path":"calls::one::fib","profiles":[{"summaries":{"parts":[],"total":{"regressions":[],"summary":{"Memcheck":{"Errors":{"metrics":{"Left":{"Int":0}}}}}}},"tool":"Memcheck"},{"summaries":{"parts":[],"total":{"regressions":[],"summary":{"Callgrind":{"EstimatedCycles":{"diffs":null,"metrics":{"Left":{"Int":2664}}},"Ir":{"diffs":null,"metrics":{"Left":{"Int":1789}}},"L1hits":{"diffs":null,"metrics":{"Left":{"Int":2559}}},"LLhits":{"diffs":null,"metrics":{"Left":{"Int":0}}},"RamHits":{"diffs":null,"metrics":{"Left":{"Int":3}}}}}}},"tool":"Callgrind"}],"version":"6"}"#,
    r#"{"function_name":"fib","group":"one","id":"short","module_path":"calls::one::fib","profiles":[{"data":{"parts":[],"total":{"metrics":{"D1MissRate":{"values":{"new":0.129366106080207}},"EstimatedCycles":{"values":{"new":2664}},"Ir":{"values":{"new":1789}},"L1hits":{"values":{"new":2559}},"LLhits":{"values":{"new":0}},"RamHits":{"values":{"new":3}}},"regressions":[]}},"tool":"Callgrind"}],"version":"7"}"#,
];

#[test]
fn gungraun_prints_a_summary_of_each() {
    for summary in SUMMARIES {
        let printed = format!("what the benchmark prints itself\n{summary}\n");
        let [read] = gungraun::read(&printed).unwrap().try_into().unwrap();
        assert_eq!(read.benchmark.as_deref(), Some("calls::one::fib::short"));
        let expected = [
            ("instructions_cachegrind", 1789.0),
            ("l1_hits_cachegrind", 2559.0),
            ("last_level_hits_cachegrind", 0.0),
            ("ram_hits_cachegrind", 3.0),
            ("estimated_cycles_cachegrind", 2664.0),
        ];
        assert_eq!(read.values.iter().collect::<Vec<_>>(), expected);
    }
    // Without an id the function has the only benchmark; without caches there are
    // instructions alone.
    let printed = r#"{"module_path":"calls::one::sorted","profiles":[{"data":{"total":{"metrics":{"Ir":{"values":{"new":5}}}}},"tool":"Cachegrind"}]}"#;
    let [read] = gungraun::read(printed).unwrap().try_into().unwrap();
    assert_eq!(read.benchmark.as_deref(), Some("calls::one::sorted"));
    assert_eq!(read.values.iter().collect::<Vec<_>>(), [("instructions_cachegrind", 5.0)]);
    // DHAT counts besides it, or alone.
    for (before, others) in [
        (r#"{"data":{"total":{"metrics":{"Ir":{"values":{"new":5}}}}},"tool":"Callgrind"},"#, 1),
        ("", 0),
    ] {
        let dhat = r#""AtTGmaxBytes":{"values":{"new":0}},"TotalBlocks":{"values":{"new":11}},"TotalBytes":{"values":{"new":250}}"#;
        let printed = format!(
            r#"{{"module_path":"a","profiles":[{before}{{"data":{{"total":{{"metrics":{{{dhat}}}}}}},"tool":"DHAT"}}]}}"#
        );
        let [read] = gungraun::read(&printed).unwrap().try_into().unwrap();
        let expected = [("allocations", 11.0), ("allocated_bytes", 250.0)];
        assert_eq!(read.values.iter().skip(others).collect::<Vec<_>>(), expected);
    }
    assert_eq!(gungraun::read("0 tests\n").unwrap(), []);
    let table = [
        ("{\"a\": 1", "a line is not the summary of a benchmark: EOF"),
        ("{\"a\": 1}", "a summary has no `module_path`: the benchmark has no name"),
        (
            r#"{"module_path":"a::b","version":"9","profiles":[{"tool":"DHAT"}]}"#,
            "the summary of `a::b`, of version 9, has no counts of callgrind, cachegrind or DHAT",
        ),
    ];
    for (printed, expected) in table {
        let error = gungraun::read(printed).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn gungraun_keeps_nothing_from_run_to_run() {
    let place = OutputPaths { stdout: "/out".into(), output: "/home".into() };
    let executable = b"Is gungraun-runner installed and gungraun-runner in your $PATH?";
    let harness = Harness::new(Dialect::Gungraun, Some(executable));
    let mut command = Command { argv: vec!["bench".into()], ..Command::default() };
    for name in ["GUNGRAUN_BASELINE", "IAI_CALLGRIND_SAVE_BASELINE", "GUNGRAUN_LIST"] {
        command.set_var(name, "a");
    }
    command.set_var("GUNGRAUN_VALGRIND_ARGS", "--num-callers=2");
    harness.set_up(&mut command, &place);
    assert_eq!(command.shown(), "bench --output-format json");
    let mut variables: Vec<&str> =
        command.env.iter().map(|(name, _)| name.to_str().unwrap()).collect();
    variables.sort_unstable();
    assert_eq!(variables, ["GUNGRAUN_HOME", "GUNGRAUN_VALGRIND_ARGS", "IAI_CALLGRIND_HOME"]);
    assert_eq!(command.var("GUNGRAUN_HOME"), Some("/home".as_ref()));
    // It takes one pattern.
    assert!(harness.can_select_benchmarks());
    assert_eq!(harness.only(&["a::b::c"]), ["a::b::c"]);
    assert_eq!(harness.only(&["a::b", "a::c"]), [""; 0]);
    assert_eq!(harness.only(&["a::b::[x]"]), [""; 0]);
}

#[test]
fn what_gungraun_lacks_is_named() {
    let missing = "gungraun: Error: The following errors occurred:\n--> Error in calls: Failed \
                   to run benchmarks: No such file or directory (os error 2).\n\nIs \
                   gungraun-runner installed and gungraun-runner in your $PATH?.\n";
    let older = "iai_callgrind_runner: Error: iai-callgrind-runner (0.14.2) is older than \
                 iai-callgrind (0.16.1). Please update iai-callgrind-runner\n";
    let valgrind = "iai_callgrind_runner: Error: cannot find binary path: 'valgrind' could not \
                    be found. Is 'valgrind' installed, executable and in the PATH?\n";
    let table = [
        (missing, "the program that runs these benchmarks is missing: `cargo install gungraun-r"),
        (older, "a runner only runs benchmarks of its own version: `cargo install iai-callgrind-"),
        (valgrind, "install valgrind, or add it to PATH: these benchmarks run under it"),
    ];
    for (stderr, expected) in table {
        let advice = advice(stderr).unwrap();
        assert!(advice.starts_with(expected), "{advice}");
    }
    assert_eq!(advice("gungraun-runner: Error: Performance has regressed.\n"), None);
    assert_eq!(advice("thread 'main' panicked\n"), None);
}

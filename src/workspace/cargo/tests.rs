//! Arguments and messages, without a cargo.

use super::*;

fn words(args: &[OsString]) -> String {
    args.iter().map(|arg| arg.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_bench_is_built_by_cargo_bench_and_the_others_in_release() {
    let call = |kind, options: &BuildOptions, configs: &[PathBuf]| {
        let into = Path::new("/t");
        let linker =
            options.all_features.then(|| Linker { triple: "a-b".into(), path: "/l".into() });
        let names = vec!["it"];
        let call = TargetCall { kind, names, options, into, configs, linker };
        let runner = ["/a \"b\"".into(), "c".into()];
        let [rendered, json] =
            ["json-render-diagnostics", "json"].map(|format| words(&call.build_args(format)));
        (rendered, json, words(&call.run_args(Some(&runner))))
    };
    let options = BuildOptions { features: vec!["a,b".into()], ..BuildOptions::default() };
    let (rendered, json, _) = call(TargetKind::Bench, &options, &[]);
    let expected = "bench --bench=it --features=a,b --no-run --no-fail-fast --target-dir /t \
                    --message-format=json";
    assert_eq!(rendered, format!("{expected}-render-diagnostics"));
    assert_eq!(json, expected);
    let options =
        BuildOptions { no_default_features: true, all_features: true, ..BuildOptions::default() };
    let (rendered, ..) = call(TargetKind::Bin, &options, &[PathBuf::from("/c.toml")]);
    assert_eq!(
        rendered,
        "build --bin=it --all-features --no-default-features --profile=release \
         --target-dir /t --config /c.toml --config build.build-dir=\"/t\" \
         --config target.\"a-b\".linker=\"/l\" \
         --message-format=json-render-diagnostics"
    );
    let one = BuildOptions { codegen_units: Some(1), ..BuildOptions::default() };
    let (rendered, ..) = call(TargetKind::Bench, &one, &[]);
    assert!(rendered.contains(" --config=profile.bench.codegen-units=1 "), "{rendered}");
    let own =
        BuildOptions { of_one_unit: BTreeSet::from(["own".into()]), ..BuildOptions::default() };
    let (rendered, ..) = call(TargetKind::Bench, &own, &[]);
    assert!(
        rendered.contains(" --config=profile.bench.package.own.codegen-units=1 "),
        "{rendered}"
    );
    let options = BuildOptions { profile: Some("fast".into()), ..one };
    let (.., run) = call(TargetKind::Example, &options, &[]);
    assert_eq!(
        run,
        "run --example=it --profile=fast --config=profile.fast.codegen-units=1 --target-dir /t \
         --config target.\"cfg(all(all()))\".runner=[\"/a \\\"b\\\"\",\"c\"] --"
    );
}

#[test]
fn what_cargo_inherits_is_not_a_variable_of_the_run_whatever_its_bytes() {
    let odd = crate::exec::system::from_git(b"x\xff").into_os_string();
    let env = vec![("ODD".into(), odd)];
    let note = tempfile::NamedTempFile::new().unwrap();
    for program in ["/t/a", "/t/b"] {
        let args = [note.path().into(), program.into(), format!("--{program}").into()];
        record_invocation(args.into_iter(), env.clone().into_iter()).unwrap();
    }
    let text = std::fs::read_to_string(note.path()).unwrap();
    let invocation = recorded_invocation(&text, Path::new("/t/b"), &env).unwrap();
    assert_eq!(invocation.env, []);
    assert_eq!(invocation.after, ["--/t/b"]);
    assert_eq!(recorded_invocation(&text, Path::new("/t/c"), &env), None);
}

#[test]
fn a_configured_runner_is_found_in_the_log() {
    let log = "     Running `CARGO=/c A_1='x y' valgrind -q /t/b-1 --bench`\n\
               running 0 tests\n";
    let got = invocation_from_log(log, Path::new("/t/b-1"));
    let expected = Invocation {
        before: vec!["valgrind".into(), "-q".into()],
        after: vec!["--bench".into()],
        env: vec![("CARGO".into(), "/c".into()), ("A_1".into(), "x y".into())],
    };
    assert_eq!(got, Some(expected));
    assert_eq!(invocation_from_log(log, Path::new("/t/other")), None);
}

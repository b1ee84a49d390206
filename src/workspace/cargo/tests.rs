//! Arguments and messages, without a cargo.

use super::*;

fn words(args: &[OsString]) -> String {
    args.iter().map(|arg| arg.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_bench_is_built_by_cargo_bench_and_the_others_in_release() {
    let target = |kind| Target { kind, name: "it".into() };
    let build = BuildOptions { features: vec!["a,b".into()], ..BuildOptions::default() };
    let args =
        build_args(&target(TargetKind::Bench), &build, Path::new("/t"), &[], Diagnostics::Rendered);
    assert_eq!(
        words(&args),
        "bench --bench=it --features=a,b --target-dir /t --no-run \
         --message-format=json-render-diagnostics"
    );
    let build =
        BuildOptions { no_default_features: true, all_features: true, ..BuildOptions::default() };
    let configs = [PathBuf::from("/c.toml")];
    let args =
        build_args(&target(TargetKind::Bin), &build, Path::new("/t"), &configs, Diagnostics::Json);
    assert_eq!(
        words(&args),
        "build --bin=it --all-features --no-default-features --profile=release \
         --target-dir /t --config /c.toml --config build.build-dir=\"/t\" \
         --message-format=json"
    );
    let build = BuildOptions { profile: Some("fast".into()), ..BuildOptions::default() };
    let args = run_args(
        &target(TargetKind::Example),
        &build,
        Path::new("/t"),
        &[],
        Some(&["/a \"b\"".into(), "c".into()]),
        &["--x".into()],
    );
    assert_eq!(
        words(&args),
        "run --example=it --profile=fast --target-dir /t \
         --config target.\"cfg(all(all()))\".runner=[\"/a \\\"b\\\"\",\"c\"] -- --x"
    );
}

#[test]
fn a_configured_runner_is_found_in_the_log() {
    let log = "     Running `CARGO=/c A_1='x y' valgrind -q /t/b-1 --quick --bench`\n\
               running 0 tests\n";
    let got = invocation_from_log(log, Path::new("/t/b-1"), &["--quick".into()]);
    let expected = Invocation {
        before: vec!["valgrind".into(), "-q".into()],
        after: vec!["--bench".into()],
        env: vec![("CARGO".into(), "/c".into()), ("A_1".into(), "x y".into())],
    };
    assert_eq!(got, Some(expected));
    assert_eq!(invocation_from_log(log, Path::new("/t/other"), &[]), None);
}

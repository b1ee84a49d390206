//! What code differs, and which benchmarks do not run it.

use cargo_cbdr::model::ChangedFunction;

use crate::ui::subjects::Subjects;
use crate::ui::text::{self, count};

/// The maximum number of functions to name; the rest is only counted.
const FUNCTIONS: usize = 5;

/// Why functions of unchanged crates differ.
const LUCK: &str = "either edited code or data is inlined into them or an edited macro generates \
    them, or the compiler split or inlined other code differently";

pub(super) fn functions(changed: &[ChangedFunction], of: &Subjects) -> String {
    if changed.is_empty() {
        let its = of.its();
        return format!(
            "every function of {of} is the same on both sides: what differs is {its} data, the \
             content of {its} files, or how {its} code is linked and placed"
        );
    }
    let (others_code, own): (Vec<_>, Vec<_>) =
        changed.iter().partition(|function| function.is_edited == Some(false));
    let functions = |all: &[&ChangedFunction]| count(all.len() as u64, "function");
    if own.is_empty() {
        return format!(
            "the code of {} of {of} differs between the sides, only in unchanged crates ({LUCK}): \
             {}",
            functions(&others_code),
            named_functions(&others_code, FUNCTIONS)
        );
    }
    let run = match own.iter().filter(|function| function.runs == Some(true)).count() {
        0 => String::new(),
        1 if own.len() == 1 => ", which a regressed benchmark runs".to_owned(),
        all if all == own.len() => "; regressed benchmarks run all of them".to_owned(),
        some => format!("; regressed benchmarks run {some} of them"),
    };
    // Those that may matter come first. Where there is none, the others are all that is known.
    let may_matter = |one: &&&ChangedFunction| one.runs != Some(false) || one.in_edited_file;
    let named = own.iter().take_while(may_matter).count();
    let named = if named == 0 { FUNCTIONS } else { named.min(FUNCTIONS) };
    let named = named_functions(&own, named);
    let luck = format!("; also {} in unchanged crates", functions(&others_code));
    let luck = if others_code.is_empty() { "" } else { &luck };
    format!("the code of {} of {of} differs between the sides: {named}{run}{luck}", functions(&own))
}

/// The first `most` functions with what has changed, and how many others there are.
fn named_functions(functions: &[&ChangedFunction], most: usize) -> String {
    let runs = |function: &&ChangedFunction| function.runs == Some(true);
    let any_runs = functions.iter().any(runs);
    let named = functions.iter().map(|function| {
        let ChangedFunction { name, bytes, .. } = function;
        let unseen = if any_runs && !runs(function) { ", not seen to run" } else { "" };
        let how = match (bytes.base, bytes.head) {
            (Some(base), Some(head)) if base != head => format!("{base} to {head} bytes"),
            (Some(_), Some(_)) => "of the same size".to_owned(),
            (Some(_), None) => "on the base only".to_owned(),
            (None, _) => "on the head only".to_owned(),
        };
        format!("`{name}` ({how}{unseen})")
    });
    text::first(named, most)
}

pub(super) fn unaffected(benchmarks: usize, of: usize, has_same_code: bool) -> String {
    let all = "to measure all, add `--measure-all`";
    if has_same_code {
        return format!(
            "every function and constant is the same on both sides, so only their placement \
             differs, and nothing was measured; {all}"
        );
    }
    let which = match (benchmarks, of) {
        (1, 1) => "the benchmark runs".to_owned(),
        _ if benchmarks == of => format!("all {of} benchmarks run"),
        (1, _) => format!("1 of {of} benchmarks runs"),
        _ => format!("{benchmarks} of {of} benchmarks run"),
    };
    let were = if benchmarks == 1 { "was" } else { "were" };
    format!("{which} none of the code that changed and {were} not measured; {all}")
}

#[cfg(test)]
mod tests {
    use cargo_cbdr::model::{BenchmarkNotice, Pair};

    use super::*;

    #[test]
    fn functions_that_may_have_been_edited_are_named_and_the_compilers_are_counted() {
        let function = |name: &str, is_edited| ChangedFunction {
            name: name.to_owned(),
            bytes: Pair { base: Some(100), head: Some(120) },
            runs: Some(true),
            is_edited: Some(is_edited),
            in_edited_file: false,
        };
        let hex = Subjects::of(&[&BenchmarkNotice::New.about("hex")]);
        let mut changed = vec![function("hex::encode", true)];
        changed.extend((0..6).map(|_| function("criterion::iter", false)));
        assert_eq!(
            functions(&changed, &hex),
            "the code of 1 function of `hex` differs between the sides: `hex::encode` (100 to 120 bytes), \
             which a regressed benchmark runs; also 6 functions in unchanged crates"
        );
        let unseen = |in_edited_file, name| ChangedFunction {
            runs: Some(false),
            in_edited_file,
            ..function(name, true)
        };
        let rarely =
            [unseen(true, "hex::error::new"), changed[0].clone(), unseen(false, "hex::free")];
        let said = functions(&rarely, &hex);
        let named = "the sides: `hex::error::new` (100 to 120 bytes, not seen to run), \
            `hex::encode` (100 to 120 bytes) and 1 other; regressed benchmarks run 1 of them";
        assert!(said.ends_with(named), "{said}");
        let only_those = functions(&changed[1..], &hex);
        assert_eq!(only_those.matches("`criterion::iter`").count(), FUNCTIONS, "{only_those}");
        let begin = "the code of 6 functions of `hex` differs between the sides, only in unchanged crates (eit";
        assert!(only_those.starts_with(begin), "{only_those}");
        assert!(only_those.ends_with(" and 1 other"), "{only_those}");
        // Such as another library, or an object that the user's linker adds.
        assert!(functions(&[], &hex).ends_with("how its code is linked and placed"));
    }
}

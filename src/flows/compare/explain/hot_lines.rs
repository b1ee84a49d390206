//! The lines that a function executes more often: of its source code where the executables have
//! line tables, or else its instructions.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::FoundCosts;
use crate::exec::execution::Unknown;
use crate::exec::meter::CountedCode;
use crate::flows::compare::program::ComparedProgram;
use crate::model::{Explanation, FunctionCost, HotLines, LineCost, Pair, Side};
use crate::workspace::cache::TREE;
use crate::workspace::functions;

/// The maximum number of lines to show.
const MOST: usize = 10;

/// The least growth of a line, as a part of that of its function.
const LEAST: f64 = 0.01;

/// Two functions with more pairs of lines are not compared.
const MOST_PAIRS: usize = 1 << 25;

/// The lines that make the largest difference in the function that grew most.
///
/// # Errors
/// If its instructions can't be disassembled.
pub(super) fn find(
    program: &ComparedProgram<'_>,
    costs: &FoundCosts,
    explanation: &Explanation,
) -> Result<Option<HotLines>, Unknown> {
    let growth = |one: &FunctionCost| one.cost.values().head - one.cost.values().base;
    let by_growth =
        |one: &&FunctionCost, other: &&FunctionCost| growth(one).total_cmp(&growth(other));
    let grown = explanation.functions.iter().filter(|one| growth(one) > 0.0);
    let Some(hot) = grown.max_by(by_growth) else { return Ok(None) };
    let code = Pair::both(|side| costs.code_of(side, &hot.name));
    let of_source = Pair::both(|side| match code[side] {
        Some((_, _, code)) => source_lines(code, &program.sides[side].home.join(TREE)),
        None => Some(Vec::new()),
    });
    let lines = match of_source {
        Pair { base: Some(base), head: Some(head) } => Pair { base, head },
        _ => Pair::try_both(|side| {
            let Some((object, name, code)) = code[side] else { return Ok(Vec::new()) };
            let texts = program.execution.disassemble(&program.sides[side], object, code);
            let texts = texts?.ok_or_else(|| {
                let why = format!(
                    "which instructions of `{}` are executed more often is not known: `objdump` is \
                     not on the PATH",
                    hot.name
                );
                let hint = "install it, for example with `apt-get install binutils`".to_owned();
                Unknown::Because(why, Some(hint))
            })?;
            Ok::<_, Unknown>(instructions(name, code, &texts))
        })?,
    };
    let lines = hottest(&lines.base, lines.head, growth(hot));
    Ok((!lines.is_empty()).then(|| HotLines { function: hot.name.clone(), lines }))
}

impl FoundCosts {
    /// The code of a function: the object file, the linker's name and the instructions. Of
    /// several with the same name, those that are executed most.
    fn code_of(&self, side: Side, function: &str) -> Option<(&str, &str, &CountedCode)> {
        let all = self.code[side].iter();
        let named =
            all.filter(|((_, name), _)| self.shown.get(name).is_some_and(|n| n == function));
        let count = |code: &CountedCode| code.values().map(|one| one.count).sum::<u64>();
        let ((object, name), code) = named.max_by_key(|(_, code)| count(code))?;
        Some((object, name, code))
    }
}

/// A line of the head, of which the base's count is not known yet.
fn line(place: String, text: String, count: u64) -> LineCost {
    LineCost { place, text, instructions: Pair { base: 0, head: count } }
}

/// The lines of source code that a function executes, if they are known of most instructions.
fn source_lines(code: &CountedCode, tree: &Path) -> Option<Vec<LineCost>> {
    let mut counts = BTreeMap::<Option<&(String, u64)>, u64>::new();
    for instruction in code.values() {
        *counts.entry(instruction.source.as_ref()).or_default() += instruction.count;
    }
    let unknown = counts.remove(&None).unwrap_or_default();
    let mut files = HashMap::<&str, String>::new();
    let (mut lines, mut known) = (Vec::new(), 0);
    for (source, count) in counts {
        let (file, number) = source?;
        let read = || std::fs::read_to_string(file).unwrap_or_default();
        let text = files.entry(file).or_insert_with(read).lines().nth(*number as usize - 1);
        let place = format!("{}:{number}", short(file, tree));
        lines.push(line(place.clone(), text.map_or(place, |text| text.trim().to_owned()), count));
        known += count;
    }
    (known > unknown).then_some(lines)
}

/// The path of a source file from the root of its worktree, package or toolchain.
fn short<'f>(file: &'f str, tree: &Path) -> Cow<'f, str> {
    if let Ok(own) = Path::new(file).strip_prefix(tree) {
        return own.to_string_lossy();
    }
    let of_others = ["/registry/src/", "/rustc/"].iter().find_map(|root| file.split_once(root));
    of_others.and_then(|(_, path)| path.split_once('/')).map_or(file, |(_, path)| path).into()
}

/// The instructions that a function executes, with where they are in it.
fn instructions(name: &str, code: &CountedCode, texts: &BTreeMap<u64, String>) -> Vec<LineCost> {
    let first = code.keys().next().copied().unwrap_or_default();
    let known = code.iter().filter_map(|(at, counted)| {
        let text = with_target(texts.get(at)?, name);
        Some(line(format!("+{:#x}", at - first), text, counted.count))
    });
    known.collect()
}

/// An instruction with a target such as `1240 <name+0xc>` as people read it.
fn with_target(text: &str, function: &str) -> String {
    let Some((before, symbol)) = text.strip_suffix('>').and_then(|text| text.rsplit_once(" <"))
    else {
        return text.to_owned();
    };
    let (name, offset) = symbol.rsplit_once("+0x").unwrap_or((symbol, "0"));
    let before = before.rsplit_once(' ').map_or(before, |(before, _)| before);
    match name == function {
        true => format!("{before} +0x{offset}"),
        false => format!("{before} {}", functions::shown(name)),
    }
}

/// The lines that are executed more often, in their order. `growth` is that of the function.
fn hottest(base: &[LineCost], mut head: Vec<LineCost>, growth: f64) -> Vec<LineCost> {
    if base.len() * head.len() > MOST_PAIRS {
        return Vec::new();
    }
    for (one, other) in common(base, &head) {
        head[other].instructions.base = base[one].instructions.head;
    }
    let gain = |line: &LineCost| line.instructions.head as f64 - line.instructions.base as f64;
    let mut hot: Vec<(usize, LineCost)> =
        head.into_iter().enumerate().filter(|(_, line)| gain(line) > LEAST * growth).collect();
    hot.sort_by_key(|(_, line)| Reverse(gain(line) as u64));
    hot.truncate(MOST);
    hot.sort_by_key(|(at, _)| *at);
    hot.into_iter().map(|(_, line)| line).collect()
}

/// What is the same on the other side if a line is: of an instruction not the registers and
/// constants, which change with all that is around it.
fn key(line: &LineCost) -> &str {
    match line.place.starts_with('+') {
        true => line.text.split(' ').next().unwrap_or_default(),
        false => &line.text,
    }
}

/// The places of a longest common subsequence.
fn common(base: &[LineCost], head: &[LineCost]) -> Vec<(usize, usize)> {
    let [base, head] = [base, head].map(|lines| lines.iter().map(key).collect::<Vec<_>>());
    let width = head.len() + 1;
    // The length of that of what begins at two places.
    let mut lengths = vec![0_u32; (base.len() + 1) * width];
    for at in (0..base.len() * width).rev().filter(|at| at % width < head.len()) {
        lengths[at] = match base[at / width] == head[at % width] {
            true => lengths[at + width + 1] + 1,
            false => lengths[at + width].max(lengths[at + 1]),
        };
    }
    let (mut at, mut found) = (0, Vec::new());
    while at / width < base.len() {
        let (one, other) = (at / width, at % width);
        if other == head.len() {
            break;
        } else if base[one] == head[other] {
            found.push((one, other));
            at += width + 1;
        } else {
            at += if lengths[at + width] >= lengths[at + 1] { width } else { 1 };
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(all: &[(&str, u64)]) -> Vec<LineCost> {
        let line = |(at, (text, count)): (usize, &(&str, u64))| {
            super::line(format!("+{at:#x}"), (*text).to_owned(), *count)
        };
        all.iter().enumerate().map(line).collect()
    }

    #[test]
    fn instructions_that_are_new_or_repeated_more_often_are_hot() {
        let base = [("push rbp", 3), ("mov eax,1", 300), ("jne +0x1", 300), ("ret", 3)];
        let head = [
            ("push rbp", 3),
            ("mov ecx,1", 900),
            ("imul ecx,ecx", 900),
            ("jne +0x1", 900),
            ("ret", 3),
        ];
        let hot = hottest(&lines(&base), lines(&head), 2100.0);
        let shown: Vec<_> = hot
            .iter()
            .map(|line| (&*line.text, line.instructions.base, line.instructions.head))
            .collect();
        let expected = [("mov ecx,1", 300, 900), ("imul ecx,ecx", 0, 900), ("jne +0x1", 300, 900)];
        assert_eq!(shown, expected);
        // Of many that are equally hot, the first.
        let many: Vec<_> = (0..20).map(|_| ("nop", 90)).collect();
        let hot = hottest(&[], lines(&many), 1800.0);
        assert_eq!((hot.len(), &*hot[9].place), (MOST, "+0x9"));
    }

    #[test]
    fn a_path_begins_where_people_know_it() {
        let table = [
            ("/cache/head/tree/src/lib.rs", "src/lib.rs"),
            ("/root/.cargo/registry/src/index-1/hex-0.4.3/src/lib.rs", "hex-0.4.3/src/lib.rs"),
            ("/rustc/5980761/library/core/src/hint.rs", "library/core/src/hint.rs"),
            ("/usr/include/a.h", "/usr/include/a.h"),
        ];
        for (path, expected) in table {
            assert_eq!(short(path, Path::new("/cache/head/tree")), expected);
        }
    }

    #[test]
    fn a_target_is_a_place_in_the_function_or_the_name_of_another() {
        let table = [
            ("jne 1240 <f+0xc>", "jne +0xc"),
            ("jmp 1234 <f>", "jmp +0x0"),
            ("call 9000 <_ZN4core3fmt5write17h0123456789abcdefE>", "call core::fmt::write"),
            ("lock cmpxchg QWORD PTR [rdi],rcx", "lock cmpxchg QWORD PTR [rdi],rcx"),
        ];
        for (text, expected) in table {
            assert_eq!(with_target(text, "f"), expected);
        }
    }
}

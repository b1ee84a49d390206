//! The lines that a function executes more often: of its source code where the executables have
//! line tables, or else its instructions.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::{Found, FoundCosts, NotFound};
use crate::exec::execution::{Context, SideProgram};
use crate::exec::meter::{CountedCode, Disassembler};
use crate::flows::compare::program::ComparedProgram;
use crate::model::explanation::{Explanation, FunctionCost, HotLines, LineCost};
use crate::model::side::{Pair, Side};
use crate::workspace::cache::TREE;
use crate::workspace::functions;

/// The maximum number of lines to show.
const MOST: usize = 10;

/// The least growth of a line, as a part of that of its function.
const LEAST: f64 = 0.01;

/// Two functions with more pairs of lines are not compared.
const MOST_PAIRS: usize = 1 << 25;

/// What one or several instructions cost in all runs.
#[derive(Clone, Debug)]
struct Line {
    place: String,
    text: String,
    count: u64,
}

impl Line {
    /// What is the same on the other side if the line is: not the registers and constants of an
    /// instruction.
    fn key(&self) -> &str {
        match self.place.starts_with('+') {
            true => self.text.split(' ').next().unwrap_or_default(),
            false => &self.text,
        }
    }
}

/// The lines that make the largest difference in the function that grew most.
///
/// # Errors
/// If its instructions can't be disassembled.
pub(super) fn find(
    program: &ComparedProgram<'_>,
    found: &Found,
    explanation: &Explanation,
    context: Context<'_>,
) -> Result<Option<HotLines>, NotFound> {
    let Found::Instructions(costs) = found else { return Ok(None) };
    let growth = |function: &FunctionCost| {
        let Pair { base, head } = function.cost.values();
        head - base
    };
    let functions = explanation.functions.iter().filter(|function| growth(function) > 0.0);
    let Some(hot) = functions.max_by(|one, other| growth(one).total_cmp(&growth(other))) else {
        return Ok(None);
    };
    let code = Pair::both(|side| costs.code_of(side, &hot.name));
    if code.head.is_none() {
        return Ok(None);
    }
    let of_source = Pair::both(|side| match code[side] {
        Some((_, _, code)) => source_lines(code, &program.sides[side]),
        None => Some(Vec::new()),
    });
    let lines = match of_source {
        Pair { base: Some(base), head: Some(head) } => Pair { base, head },
        _ => {
            let path = program.sides.head.path_variable();
            let disassembler = Disassembler::find(path.as_deref()).map_err(|refusal| {
                let why = format!(
                    "which instructions of `{}` are executed more often is not known: {}",
                    hot.name, refusal.why
                );
                NotFound::Because { why, hint: refusal.hint }
            })?;
            Pair::try_both(|side| -> Result<Vec<Line>, NotFound> {
                let Some((object, name, code)) = code[side] else { return Ok(Vec::new()) };
                let function = (object, code);
                let side = &program.sides[side];
                let texts =
                    program.execution.disassemble(side, &disassembler, function, context)?;
                Ok(instructions(name, code, &texts))
            })?
        }
    };
    let lines = hottest(&lines, growth(hot), costs.runs as u64);
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

/// The lines of source code that a function executes, if they are known of most instructions.
fn source_lines(code: &CountedCode, program: &SideProgram) -> Option<Vec<Line>> {
    let mut counts = BTreeMap::<(&str, u64), u64>::new();
    let mut unknown = 0;
    for instruction in code.values() {
        match &instruction.source {
            Some((file, line)) => *counts.entry((file, *line)).or_default() += instruction.count,
            None => unknown += instruction.count,
        }
    }
    if counts.values().sum::<u64>() <= unknown {
        return None;
    }
    let mut files = HashMap::<&str, String>::new();
    let mut lines = Vec::new();
    for ((file, line), count) in counts {
        let read = || std::fs::read_to_string(file).unwrap_or_default();
        let text = files.entry(file).or_insert_with(read).lines().nth(line as usize - 1);
        let place = format!("{}:{line}", short(file, &program.home.join(TREE)));
        let text = text.map_or(place.clone(), |text| text.trim().to_owned());
        lines.push(Line { place, text, count });
    }
    Some(lines)
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
fn instructions(name: &str, code: &CountedCode, texts: &BTreeMap<u64, String>) -> Vec<Line> {
    let first = code.keys().next().copied().unwrap_or_default();
    let known = code.iter().filter_map(|(at, counted)| Some((at, counted.count, texts.get(at)?)));
    let line = |(at, count, text): (&u64, u64, &String)| Line {
        place: format!("+{:#x}", at - first),
        text: with_target(text, name),
        count,
    };
    known.map(line).collect()
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

/// The lines that are executed more often, on average of the runs, in their order. `growth` is
/// that of the function.
fn hottest(lines: &Pair<Vec<Line>>, growth: f64, runs: u64) -> Vec<LineCost> {
    let Pair { base, head } = lines;
    if base.len() * head.len() > MOST_PAIRS {
        return Vec::new();
    }
    let keys = lines.as_ref().map(|lines| lines.iter().map(Line::key).collect::<Vec<_>>());
    let mut before = vec![0; head.len()];
    for (one, other) in common(&keys.base, &keys.head) {
        before[other] = base[one].count;
    }
    let gain = |at: &usize| head[*at].count.saturating_sub(before[*at]);
    let least = (LEAST * growth * runs as f64) as u64;
    let mut hot: Vec<usize> = (0..head.len()).filter(|at| gain(at) > least).collect();
    hot.sort_by_key(|at| std::cmp::Reverse(gain(at)));
    hot.truncate(MOST);
    hot.sort_unstable();
    let line = |at: usize| {
        let Line { place, text, count } = head[at].clone();
        let instructions = Pair { base: before[at] / runs, head: count / runs };
        LineCost { place, text, instructions }
    };
    hot.into_iter().map(line).collect()
}

/// The places of a longest common subsequence.
fn common(base: &[&str], head: &[&str]) -> Vec<(usize, usize)> {
    let width = head.len() + 1;
    // The length of that of what begins at two places.
    let mut lengths = vec![0_u32; (base.len() + 1) * width];
    for one in (0..base.len()).rev() {
        for other in (0..head.len()).rev() {
            let at = one * width + other;
            lengths[at] = match base[one] == head[other] {
                true => lengths[at + width + 1] + 1,
                false => lengths[at + width].max(lengths[at + 1]),
            };
        }
    }
    let (mut one, mut other, mut found) = (0, 0, Vec::new());
    while one < base.len() && other < head.len() {
        let at = one * width + other;
        if base[one] == head[other] {
            found.push((one, other));
            (one, other) = (one + 1, other + 1);
        } else if lengths[at + width] >= lengths[at + 1] {
            one += 1;
        } else {
            other += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(all: &[(&str, u64)]) -> Vec<Line> {
        let line = |(at, (text, count)): (usize, &(&str, u64))| Line {
            place: format!("+{at:#x}"),
            text: (*text).to_owned(),
            count: *count,
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
        let both = Pair { base: lines(&base), head: lines(&head) };
        let hot = hottest(&both, 700.0, 3);
        let shown: Vec<_> = hot
            .iter()
            .map(|line| (&*line.text, line.instructions.base, line.instructions.head))
            .collect();
        let expected = [("mov ecx,1", 100, 300), ("imul ecx,ecx", 0, 300), ("jne +0x1", 100, 300)];
        assert_eq!(shown, expected);
        // Of many that are equally hot, the first.
        let many: Vec<_> = (0..20).map(|_| ("nop", 90)).collect();
        let hot = hottest(&Pair { base: Vec::new(), head: lines(&many) }, 600.0, 3);
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

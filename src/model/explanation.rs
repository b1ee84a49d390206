//! Why a benchmark regressed.

use serde::{Deserialize, Serialize};

use super::side::Pair;

/// What a benchmark costs on both sides, and which functions make the difference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// The benchmark.
    pub benchmark: String,
    /// All of it: the instructions of its process, the time of an iteration, or the code.
    #[serde(flatten)]
    pub cost: Cost,
    /// The functions whose cost differs by more than from run to run, those that differ most
    /// first; the crates, if the cost is the code.
    pub functions: Vec<FunctionCost>,
    /// Where in a function the instructions are that were added, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hot: Option<HotLines>,
    /// What each call stack costs, if that is known.
    #[serde(skip)]
    pub stacks: Vec<StackCost>,
}

/// The lines of the function that grew most which are executed more often.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HotLines {
    /// The name of the function.
    pub function: String,
    /// At most ten of its lines, in their order.
    pub lines: Vec<LineCost>,
}

/// How often the instructions of a line of source code, or one instruction, are executed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LineCost {
    /// Where it is: `src/lib.rs:12`, or the distance from the start of the function, `+0x1f`.
    pub place: String,
    /// The line, or the instruction; the place if it can't be read.
    pub text: String,
    /// On both sides. The base's are 0 if it has no such line there.
    pub instructions: Pair<u64>,
}

/// What a function costs when it is called through certain others.
#[derive(Clone, Debug, PartialEq)]
pub struct StackCost {
    /// Its callers from the outermost on, and the function.
    pub frames: Vec<StackFrame>,
    /// Its own cost, without that of the functions that it calls: instructions, or seconds.
    pub cost: Pair<f64>,
}

/// A function in a call stack.
#[derive(Clone, Debug, PartialEq)]
pub struct StackFrame {
    /// Its name, without the hashes of crates.
    pub function: String,
    /// Whether its code differs between the sides.
    pub differs: bool,
}

/// What a function costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionCost {
    /// Its name, without the hashes of crates.
    pub name: String,
    /// Its own cost, without that of the functions that it calls.
    #[serde(flatten)]
    pub cost: Cost,
    /// Whether its code differs between the sides, where that is known.
    pub differs: Option<bool>,
}

/// A cost on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cost {
    /// The instructions of a process that executes the benchmark once, as valgrind counts them.
    Instructions(Pair<u64>),
    /// Seconds of an iteration, divided among the functions as perf's samples are.
    Seconds(Pair<f64>),
    /// Machine code.
    Bytes(Pair<u64>),
}

impl Cost {
    /// Both sides, in the unit of this cost.
    pub fn values(self) -> Pair<f64> {
        match self {
            Cost::Instructions(both) | Cost::Bytes(both) => both.map(|count| count as f64),
            Cost::Seconds(both) => both,
        }
    }
}

/// How functions are found that make a benchmark slower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Valgrind counts their instructions.
    Instructions,
    /// perf takes samples of where the program is.
    Samples,
}

/// When what has regressed is explained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Explain {
    #[expect(missing_docs, reason = "the name says it")]
    #[default]
    Never,
    /// Where valgrind or perf is there and it takes seconds.
    WhereCheap,
    /// However long it takes.
    Always,
}

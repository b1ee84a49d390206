//! The labels in order of appearance, which of them are compared, and whether
//! their rows form pairs.

use std::collections::HashMap;

use super::error::failure;
use crate::error::Error;
use crate::model::side::{Pair, Side};

/// The maximum number of labels.
const MOST: usize = 20_000;

/// The maximum number of sums: one for each metric of each label.
const MOST_SUMS: usize = 1_000_000;

#[derive(Clone, Debug)]
pub(super) struct Label {
    pub(super) name: String,
    seen: RowsSeen,
    /// The pairs of labels that it belongs to, by number, and its side in each.
    pub(super) pairs: Vec<(usize, Side)>,
}

/// The rows of a label so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowsSeen {
    None,
    /// One, in the current file.
    One,
    Several,
}

/// Two labels that are compared. Their rows form pairs as long as every two of
/// them have one of each label.
#[derive(Clone, Debug)]
pub struct RecordedPairs {
    /// The benchmark, or both labels.
    pub(crate) name: String,
    /// The numbers of the labels.
    pub labels: Pair<usize>,
    /// The pairs in order: which side came first, and the row of each label. Empty
    /// unless all rows form pairs.
    pub(crate) pairs: Vec<(Side, Pair<usize>)>,
    /// The row whose other side is still missing, with its side.
    half: Option<(Side, usize)>,
    /// The first line where the rows do not form pairs.
    pub(super) broken: Option<u64>,
}

impl RecordedPairs {
    /// Adds a row of one of its labels. Returns whether that completes a pair.
    pub(super) fn take(&mut self, side: Side, row: usize, line: u64) -> bool {
        if self.broken.is_some() {
            return false;
        }
        match self.half.take() {
            None => {
                self.half = Some((side, row));
                false
            }
            Some((first, earlier)) if first != side => {
                self.pairs.push((first, Pair::both(|of| if of == first { earlier } else { row })));
                true
            }
            Some(_) => {
                self.broken = Some(line);
                self.pairs.clear();
                false
            }
        }
    }

    /// Whether every row belongs to a complete pair.
    pub(super) fn is_whole(&self) -> bool {
        self.half.is_none() && self.broken.is_none()
    }
}

/// All labels.
#[derive(Clone, Debug, Default)]
pub(super) struct Labels {
    /// The label that all others are compared with, if named.
    pub(super) base: Option<String>,
    pub(super) all: Vec<Label>,
    pub(super) pairs: Vec<RecordedPairs>,
    numbers: HashMap<Vec<u8>, usize>,
    /// The latest label that does not name a side of a benchmark.
    plain: Option<usize>,
}

impl Labels {
    pub(super) fn new(base: Option<String>) -> Self {
        Labels { base, ..Labels::default() }
    }

    /// The number of a label. A new one is added, with the pairs that it forms
    /// with earlier ones.
    pub(super) fn number(&mut self, label: &[u8], line: u64) -> usize {
        if let Some(&number) = self.numbers.get(label) {
            return number;
        }
        let number = self.all.len();
        self.numbers.insert(label.to_vec(), number);
        let name = String::from_utf8_lossy(label).into_owned();
        self.all.push(Label { name, seen: RowsSeen::None, pairs: Vec::new() });
        self.pair_up(number, label, line);
        number
    }

    /// Checks that there are not too many labels.
    pub(super) fn check_number(&self, metrics: usize) -> Result<(), Error> {
        let most = MOST.min(MOST_SUMS / metrics.max(1));
        if self.all.len() <= most {
            return Ok(());
        }
        let what = format!("there are more than {most} labels");
        Err(failure(what, "the first column names the side of a run"))
    }

    /// Adds the pairs of a new label.
    fn pair_up(&mut self, new: usize, label: &[u8], line: u64) {
        let name = self.all[new].name.clone();
        if let Some(base) = &self.base {
            if name == *base {
                (0..new).for_each(|head| self.join(None, Pair { base: new, head }, line));
            } else if let Some(&base) = self.numbers.get(base.as_bytes()) {
                self.join(None, Pair { base, head: new }, line);
            }
        } else if let Some((benchmark, side)) = side_of(&name) {
            let beginning = &label[..label.len() - side.name().len()];
            let partner = [beginning, side.other().name().as_bytes()].concat();
            if let Some(&other) = self.numbers.get(&partner) {
                let labels = Pair::both(|of| if of == side { new } else { other });
                self.join(Some(benchmark), labels, line);
            }
        } else if let Some(other) = self.plain.replace(new) {
            // The sides of the only benchmark are recognised by their names, too.
            let swapped = name == Side::Base.name() && self.all[other].name == Side::Head.name();
            let (base, head) = if swapped { (new, other) } else { (other, new) };
            self.join(None, Pair { base, head }, line);
        }
    }

    fn join(&mut self, benchmark: Option<&str>, labels: Pair<usize>, line: u64) {
        let Pair { base, head } = labels.map(|number| &self.all[number].name);
        let name = benchmark.map_or_else(|| format!("{head} vs {base}"), str::to_owned);
        let mut pair = RecordedPairs { name, labels, pairs: vec![], half: None, broken: None };
        for side in Side::BOTH {
            let label = &mut self.all[labels[side]];
            label.pairs.push((self.pairs.len(), side));
            // The rows of the earlier label before the later one appeared.
            match label.seen {
                RowsSeen::None => {}
                RowsSeen::One => pair.half = Some((side, 0)),
                RowsSeen::Several => pair.broken = Some(line),
            }
        }
        self.pairs.push(pair);
    }

    /// Counts a row of a label.
    pub(super) fn count(&mut self, number: usize) {
        let seen = &mut self.all[number].seen;
        *seen = if *seen == RowsSeen::None { RowsSeen::One } else { RowsSeen::Several };
    }

    /// Begins another file: pairs do not span files.
    pub(super) fn next_file(&mut self) {
        for label in self.all.iter_mut().filter(|label| label.seen == RowsSeen::One) {
            label.seen = RowsSeen::Several;
        }
        for pair in &mut self.pairs {
            pair.half = None;
        }
    }

    /// The names of the labels.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.all.iter().map(|label| label.name.as_str())
    }

    /// The names of the labels that are not compared.
    pub(super) fn unpaired(&self) -> impl Iterator<Item = &str> {
        self.all.iter().filter(|label| label.pairs.is_empty()).map(|label| label.name.as_str())
    }
}

/// The benchmark and the side that a label such as `NAME/head` names.
pub(super) fn side_of(label: &str) -> Option<(&str, Side)> {
    Side::BOTH.into_iter().find_map(|side| {
        let benchmark = label.strip_suffix(side.name())?.strip_suffix('/')?;
        (!benchmark.is_empty()).then_some((benchmark, side))
    })
}

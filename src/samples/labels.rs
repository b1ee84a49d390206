//! The labels, in order of appearance, and which of them are compared.

use std::collections::HashMap;

use super::versus::Couple;
use super::{Error, Spec, Sums};
use crate::model::side::{Pair, Side};

/// Above this many labels they are looked up in a map.
const FEW: usize = 8;

/// The most labels.
const MOST: usize = 20_000;

/// The most sums: one for each metric of each label.
const MOST_SUMS: usize = 1_000_000;

/// A label and its runs.
#[derive(Clone, Debug)]
pub(super) struct Label {
    pub(super) name: String,
    pub(super) sums: Vec<Sums>,
    /// How many rows it had.
    rows: u64,
    /// The first of them.
    first: Vec<Option<f64>>,
    /// The couples that it is in, and as what.
    couples: Vec<(usize, Side)>,
}

impl Label {
    pub(super) fn is_compared(&self) -> bool {
        !self.couples.is_empty()
    }
}

/// All labels.
#[derive(Clone, Debug, Default)]
pub(super) struct Labels {
    pub(super) all: Vec<Label>,
    pub(super) couples: Vec<Couple>,
    numbers: HashMap<Vec<u8>, usize>,
    /// The latest label that is not a side of a benchmark.
    plain: Option<usize>,
}

impl Labels {
    /// The number of a label; a new one is entered. True when that made
    /// couples.
    pub(super) fn number(
        &mut self,
        label: &[u8],
        spec: &Spec,
        metrics: usize,
        line: u64,
    ) -> (usize, bool) {
        if self.all.len() <= FEW {
            let found = self.all.iter().position(|known| known.name.as_bytes() == label);
            if let Some(number) = found {
                return (number, false);
            }
        }
        if let Some(&number) = self.numbers.get(label) {
            return (number, false);
        }
        let name = String::from_utf8_lossy(label).into_owned();
        let number = self.all.len();
        self.numbers.insert(label.to_vec(), number);
        self.all.push(Label {
            name,
            sums: vec![Sums::new(); metrics],
            rows: 0,
            first: Vec::new(),
            couples: Vec::new(),
        });
        let before = self.couples.len();
        self.couple(number, spec, line);
        (number, self.couples.len() > before)
    }

    /// That there are not more than anybody would look at.
    pub(super) fn check_number(&self, metrics: usize) -> Result<(), Error> {
        let most = MOST.min(MOST_SUMS / metrics.max(1));
        if self.all.len() > most { Err(Error::Crowd { most }) } else { Ok(()) }
    }

    /// Makes the couples that a new label is in.
    fn couple(&mut self, number: usize, spec: &Spec, line: u64) {
        let name = self.all[number].name.clone();
        if let Some(base) = &spec.base {
            let is_base = name == *base;
            let others = self.all[..number].iter().enumerate();
            let others = others.filter(|(_, other)| is_base || other.name == *base);
            for other in others.map(|(other, _)| other).collect::<Vec<_>>() {
                let labels = match is_base {
                    true => Pair { base: number, head: other },
                    false => Pair { base: other, head: number },
                };
                self.join(self.title(labels), labels, spec, line);
            }
            return;
        }
        let Some((benchmark, side)) = side_of(&name) else {
            // The sides of the only benchmark go by their names, too.
            if let Some(other) = self.plain.replace(number) {
                let is_base = name == Side::Base.name();
                let labels = match is_base && self.all[other].name == Side::Head.name() {
                    true => Pair { base: number, head: other },
                    false => Pair { base: other, head: number },
                };
                self.join(self.title(labels), labels, spec, line);
            }
            return;
        };
        let partner = format!("{benchmark}/{}", side.other());
        if let Some(other) = self.all.iter().position(|label| label.name == partner) {
            let labels = match side {
                Side::Base => Pair { base: number, head: other },
                Side::Head => Pair { base: other, head: number },
            };
            self.join(benchmark.to_owned(), labels, spec, line);
        }
    }

    fn title(&self, labels: Pair<usize>) -> String {
        let Pair { base, head } = labels.map(|number| &self.all[number].name);
        format!("{head} vs {base}")
    }

    fn join(&mut self, name: String, labels: Pair<usize>, spec: &Spec, line: u64) {
        let number = self.couples.len();
        let mut couple = Couple::new(name, labels, spec);
        for side in Side::BOTH {
            let label = &mut self.all[labels[side]];
            label.couples.push((number, side));
            // What the earlier one had before the later one came.
            match label.rows {
                0 => {}
                1 => drop(couple.take(side, &label.first, line)),
                _ => couple.part(line),
            }
        }
        self.couples.push(couple);
    }

    /// Takes a row. True when that completed a pair.
    pub(super) fn take(
        &mut self,
        number: usize,
        values: &[Option<f64>],
        line: u64,
        logarithms: bool,
    ) -> bool {
        let label = &mut self.all[number];
        if label.rows == 0 {
            label.first = values.to_vec();
        }
        label.rows += 1;
        for (sums, value) in label.sums.iter_mut().zip(values) {
            if let Some(value) = value {
                sums.push(*value, logarithms);
            }
        }
        let mut paired = false;
        for &(couple, side) in &self.all[number].couples {
            paired |= self.couples[couple].take(side, values, line);
        }
        paired
    }

    /// A further file begins: no pair reaches over that.
    pub(super) fn next_file(&mut self, metrics: usize) {
        for label in &mut self.all {
            label.sums.resize(metrics, Sums::new());
            // One row of an earlier file pairs with none of a later one.
            label.rows *= 2;
        }
        for couple in &mut self.couples {
            couple.forget_half();
        }
    }

    /// Sides of a benchmark without the other one.
    pub(super) fn alone(&self) -> impl Iterator<Item = &str> {
        let alone = self.all.iter().filter(|label| !label.is_compared());
        alone.map(|label| label.name.as_str())
    }
}

/// The benchmark and the side that a label such as `NAME/head` names.
fn side_of(label: &str) -> Option<(&str, Side)> {
    Side::BOTH.into_iter().find_map(|side| {
        let benchmark = label.strip_suffix(side.name())?.strip_suffix('/')?;
        (!benchmark.is_empty()).then_some((benchmark, side))
    })
}

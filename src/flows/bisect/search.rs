//! Which commit to try next, and which suspects remain at the end. Pure.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::model::words::words;

/// The outcome for a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepOutcome {
    /// It is not slower than the good commit by more than the threshold.
    Good,
    /// It is slower.
    Bad,
    /// The limit was reached before a verdict.
    Inconclusive,
    /// It does not build or does not run.
    Unusable,
}

words!(StepOutcome {
    Good = "good",
    Bad = "bad",
    Inconclusive = "inconclusive",
    Unusable = "unusable",
});

/// A search among commits for the one that introduced a regression, assuming that it
/// persists.
#[derive(Clone, Debug)]
pub(super) struct Search {
    parents: Vec<Vec<usize>>,
    /// The outcome of each commit, if known.
    outcomes: Vec<Option<StepOutcome>>,
    /// The earliest commit that is known to be bad.
    bad: usize,
}

impl Search {
    /// A search among commits that are numbered with parents before their children,
    /// each with its parents among them. The last one is bad, and all commits outside
    /// are good.
    pub(super) fn new(parents: Vec<Vec<usize>>) -> Self {
        let bad = parents.len().saturating_sub(1);
        let outcomes = vec![None; parents.len()];
        Search { parents, outcomes, bad }
    }

    /// Adds the outcome of a commit.
    pub(super) fn mark(&mut self, commit: usize, outcome: StepOutcome) {
        self.outcomes[commit] = Some(outcome);
        if outcome == StepOutcome::Bad && self.suspects().contains(&commit) {
            self.bad = commit;
        }
    }

    /// The commits that may have introduced the regression: the earliest bad one and
    /// its ancestors, without the good ones and their ancestors.
    pub(super) fn suspects(&self) -> BTreeSet<usize> {
        let outcomes = self.outcomes.iter().enumerate();
        let good = outcomes.filter(|(_, outcome)| **outcome == Some(StepOutcome::Good));
        let cleared = self.with_ancestors(good.map(|(commit, _)| commit));
        let bad = self.with_ancestors([self.bad]);
        (0..self.parents.len()).filter(|&commit| bad[commit] && !cleared[commit]).collect()
    }

    /// Whether each commit is one of these or of their ancestors.
    fn with_ancestors(&self, commits: impl IntoIterator<Item = usize>) -> Vec<bool> {
        let mut found = vec![false; self.parents.len()];
        let mut left: Vec<usize> = commits.into_iter().collect();
        while let Some(commit) = left.pop() {
            if !std::mem::replace(&mut found[commit], true) {
                left.extend(&self.parents[commit]);
            }
        }
        found
    }

    /// The commit to try next: the one that halves the suspects. After some were
    /// skipped, it is the one that divides them at 1/4, 3/4, 1/8, 5/8 and so on, to get
    /// away from commits that can't be tried. `None` if all were tried.
    pub(super) fn next(&self) -> Option<usize> {
        let suspects = self.suspects();
        let is_skipped = |commit: &&usize| {
            let outcome = self.outcomes[**commit];
            matches!(outcome, Some(StepOutcome::Inconclusive | StepOutcome::Unusable))
        };
        let skipped = suspects.iter().filter(is_skipped).count();
        let wanted = van_der_corput(1 + skipped) * suspects.len() as f64;
        let weights = self.weights(&suspects);
        let distance = |commit: &usize| (weights[*commit] as f64 - wanted).abs();
        let is_untried =
            |commit: &&usize| self.outcomes[**commit].is_none() && **commit != self.bad;
        let untried = suspects.iter().filter(is_untried);
        untried.min_by(|one, other| distance(one).total_cmp(&distance(other))).copied()
    }

    /// How many suspects each suspect clears if it is good.
    fn weights(&self, suspects: &BTreeSet<usize>) -> Vec<usize> {
        let mut weights = vec![0; self.parents.len()];
        for &commit in suspects {
            let parents = self.parents[commit].iter().filter(|parent| suspects.contains(parent));
            weights[commit] = match parents.copied().collect::<Vec<_>>().as_slice() {
                [] => 1,
                [only] => 1 + weights[*only],
                _ => {
                    let cleared = self.with_ancestors([commit]);
                    suspects.iter().filter(|&&suspect| cleared[suspect]).count()
                }
            };
        }
        weights
    }
}

/// How many halvings leave one of `count`.
pub(super) fn halvings(count: usize) -> u32 {
    count.max(1).next_power_of_two().ilog2()
}

/// The van der Corput sequence: 1/2, 1/4, 3/4, 1/8, 5/8, 3/8, 7/8 and so on.
fn van_der_corput(number: usize) -> f64 {
    let bits = f64::from((number as u32).reverse_bits());
    bits / 2f64.powi(32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(count: usize) -> Search {
        Search::new((0..count).map(|at| at.checked_sub(1).into_iter().collect()).collect())
    }

    /// Searches for `guilty` where `broken` can't be tried; the suspects that
    /// are left, and how many tries it took.
    fn find(
        mut search: Search,
        is_bad: impl Fn(usize) -> bool,
        broken: &[usize],
    ) -> (Vec<usize>, usize) {
        let mut tries = 0;
        while let Some(next) = search.next() {
            tries += 1;
            let outcome = match (broken.contains(&next), is_bad(next)) {
                (true, _) => StepOutcome::Unusable,
                (_, true) => StepOutcome::Bad,
                _ => StepOutcome::Good,
            };
            search.mark(next, outcome);
        }
        (search.suspects().into_iter().collect(), tries)
    }

    #[test]
    fn every_guilty_commit_of_every_chain_is_found_in_as_many_tries_as_halvings() {
        for count in 1..70 {
            for guilty in 0..count {
                let (found, tries) = find(chain(count), |at| at >= guilty, &[]);
                assert_eq!(found, [guilty], "of {count}");
                assert!(tries as u32 <= halvings(count), "{tries} for {guilty} of {count}");
            }
        }
    }

    #[test]
    fn what_cannot_be_tried_is_gone_around_and_stays_a_suspect_where_it_hides_the_answer() {
        let broken = [28, 29, 30, 31];
        for guilty in (0..60).filter(|guilty| !broken.contains(guilty) && *guilty != 32) {
            let (found, tries) = find(chain(60), |at| at >= guilty, &broken);
            assert_eq!(found, [guilty]);
            assert!(tries <= 12, "{tries} for {guilty}");
        }
        for guilty in 28..=32 {
            let (found, _) = find(chain(60), |at| at >= guilty, &broken);
            assert_eq!(found, [28, 29, 30, 31, 32]);
        }
    }

    #[test]
    fn a_long_broken_stretch_costs_few_tries() {
        let broken: Vec<usize> = (300..700).collect();
        let (found, tries) = find(chain(1000), |at| at >= 900, &broken);
        assert_eq!(found, [900]);
        assert!(tries < 20, "{tries}");
    }

    #[test]
    fn merged_branches_are_searched() {
        // 0 - 1 - 2 ------ 6 - 7, and 1 - 3 - 4 - 5 merged by 6.
        let parents =
            vec![vec![], vec![0], vec![1], vec![1], vec![3], vec![4], vec![2, 5], vec![6]];
        let children_of = |guilty: usize| {
            let search = Search::new(parents.clone());
            (0..8).filter(|&at| search.with_ancestors([at])[guilty]).collect::<Vec<_>>()
        };
        for guilty in 0..8 {
            let bad = children_of(guilty);
            let (found, _) = find(Search::new(parents.clone()), |at| bad.contains(&at), &[]);
            assert_eq!(found, [guilty]);
        }
    }

    #[test]
    fn one_commit_needs_no_try() {
        assert_eq!(find(chain(1), |_| true, &[]), (vec![0], 0));
        assert_eq!(
            (halvings(1), halvings(2), halvings(60), halvings(64), halvings(65)),
            (0, 1, 6, 6, 7)
        );
    }
}

//! What a search has learned so far, in a file of the cache, so that it goes on
//! where it was ended.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::search::Mark;
use crate::error::Error;
use crate::exec::system::Place;

/// What one commit came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The commit.
    pub commit: String,
    /// What it was found to be.
    pub outcome: CommitOutcome,
    /// Why it could not be tried, or was not measured.
    pub why: Option<String>,
    /// What was measured, where something was.
    pub measured: Option<Measurement>,
}

/// What a commit was found to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommitOutcome {
    /// No slower than the good one by more than the threshold.
    Good,
    /// Slower.
    Bad,
    /// The limit came before the verdict.
    Inconclusive,
    /// It does not build, or does not run.
    Unusable,
}

impl CommitOutcome {
    /// What the search makes of it.
    pub fn mark(self) -> Mark {
        match self {
            CommitOutcome::Good => Mark::Good,
            CommitOutcome::Bad => Mark::Bad,
            CommitOutcome::Inconclusive | CommitOutcome::Unusable => Mark::Skip,
        }
    }

    /// Its name in the outputs.
    pub fn name(self) -> &'static str {
        match self {
            CommitOutcome::Good => "good",
            CommitOutcome::Bad => "bad",
            CommitOutcome::Inconclusive => "inconclusive",
            CommitOutcome::Unusable => "unusable",
        }
    }
}

/// What a comparison measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The chance of a wrong verdict that it was allowed.
    pub level: f64,
    /// The change of the metric that decided, a fraction.
    pub change: Option<f64>,
    /// The lower bound of the change.
    pub lower: Option<f64>,
    /// The upper bound of the change.
    pub upper: Option<f64>,
    /// How many pairs there were.
    pub pairs: u64,
    /// How long sampling took, seconds.
    pub seconds: f64,
}

/// The file of a search.
#[derive(Debug)]
pub(super) struct State {
    path: PathBuf,
    pub(super) steps: Vec<Step>,
}

impl State {
    /// What is known of the search whose file this is; nothing where there is
    /// none, or one that can't be read.
    pub(super) fn open(path: PathBuf) -> Self {
        let text = std::fs::read(&path).unwrap_or_default();
        let steps = serde_json::from_slice(&text).unwrap_or_default();
        State { path, steps }
    }

    pub(super) fn push(&mut self, step: Step) -> Result<(), Error> {
        self.steps.push(step);
        let text = serde_json::to_vec(&self.steps).unwrap_or_default();
        let kept = Place::find(&self.path).and_then(|place| place.replace(&text));
        kept.map_err(Error::io("write", &self.path))
    }

    /// Forgets it all.
    pub(super) fn remove(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

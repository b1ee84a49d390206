//! What the steps of a comparison share.

use std::time::Instant;

use super::{ComparedProgram, Options};
use crate::engine::Reporter;
use crate::model::Notice;
use crate::workspace::Preparation;

/// The programs of a comparison, and to whom is reported what happens.
pub(super) struct Session<'s, 'a> {
    pub(super) programs: &'s mut [ComparedProgram<'a>],
    pub(super) preparation: &'s Preparation,
    pub(super) options: &'s Options,
    pub(super) start: Instant,
    pub(super) reporter: &'s mut (dyn Reporter + 's),
}

impl Session<'_, '_> {
    /// Seconds since the start.
    pub(super) fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// Reports what the user should know about the runs so far.
    pub(super) fn report_runs(&mut self) {
        for program in &mut *self.programs {
            for notice in program.execution.notices.drain(..) {
                self.reporter.notice(Notice::Run(notice));
            }
        }
    }
}

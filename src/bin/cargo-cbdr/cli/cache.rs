//! The arguments of `cache`.

use clap::Subcommand;

use super::SIDES;

/// What to do with the cache.
#[derive(Debug, Subcommand)]
pub(crate) enum Cache {
    /// Say what is kept of each repository, the latest used first
    List,
    /// Remove what is kept of this repository: builds, worktrees, target folders
    ///
    /// Everything can be made again. What a comparison uses at this moment stays.
    Clean {
        /// Of all repositories
        #[arg(long, help_heading = SIDES)]
        all: bool,
    },
}

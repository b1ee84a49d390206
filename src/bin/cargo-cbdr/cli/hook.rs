//! The arguments of `hook`.

use clap::Subcommand;

use super::{BENCHMARK, STOPPING};

/// What to do with the pre-push hook.
#[derive(Debug, Subcommand)]
pub(crate) enum Hook {
    /// Make git compare each branch with its merge-base before it is pushed
    ///
    /// A regression stops the push; `git push --no-verify` pushes nevertheless.
    /// A hook that is there already is kept and called first.
    Install {
        /// How long all branches of a push together may be sampled
        #[arg(long, value_name = "TIME", default_value = "1m", help_heading = STOPPING)]
        time_limit: String,

        /// Further arguments of `cargo cbdr compare`
        #[arg(last = true, value_name = "ARGS", help_heading = BENCHMARK)]
        args: Vec<String>,
    },
    /// Take the hook away again, and put back what was there before
    ///
    /// Removes the lines that `hook install` wrote, and no others.
    Uninstall,
    /// Compare what git says that it will push; the hook calls this
    #[command(hide = true)]
    Run {
        /// How long all branches together may be sampled
        #[arg(long, value_name = "TIME", default_value = "1m", help_heading = STOPPING)]
        time_limit: String,

        /// Further arguments of `cargo cbdr compare`
        #[arg(last = true, value_name = "ARGS", help_heading = BENCHMARK)]
        args: Vec<String>,
    },
}

//! Turns flags into a request for the library.

use std::path::PathBuf;

use cargo_cbdr::settings::options::check;
use cargo_cbdr::settings::table::Table;
use cargo_cbdr::workspace::Request;

use super::{CAPTURE, LINK, TRACE, call_of_ourselves, environment};
use crate::ui::Failure;

/// A request in the current folder with these `flags`; for a `head` other than HEAD
/// if given, and for the benchmarks that match `filter`.
pub(super) fn request(
    flags: Table,
    head: Option<String>,
    filter: Option<String>,
) -> Result<Request, Failure> {
    Ok(Request { head, filter, ..request_in(super::current_folder()?, flags)? })
}

/// A request for HEAD in a folder, with these `flags`.
pub(super) fn request_in(folder: PathBuf, flags: Table) -> Result<Request, Failure> {
    // Reported before anything is checked out, as an error of the command line.
    check(&flags)?;
    Ok(Request {
        folder,
        flags,
        cache: cache_dir(),
        env: environment(),
        capture: call_of_ourselves(CAPTURE)?,
        record_link: call_of_ourselves(LINK)?,
        trace: call_of_ourselves(TRACE)?,
        ..Request::default()
    })
}

/// The cache's place, if the environment sets one.
pub(super) fn cache_dir() -> Option<PathBuf> {
    std::env::var_os("CBDR_CACHE_DIR").filter(|place| !place.is_empty()).map(PathBuf::from)
}

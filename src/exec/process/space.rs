//! How much room a file system has left.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Bytes that a file system has for users at the least, or it counts as full:
/// what failed for want of room often leaves a little.
const LEAST: u64 = 1 << 20;

/// Whether the file system of `path` has less than 1 MiB or no file left for
/// users. False where the system does not say.
pub(crate) fn is_full(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: zeroed is a valid value, the path ends with a zero, and both
    // outlive the call.
    let (code, about) = unsafe {
        let mut about: libc::statvfs = std::mem::zeroed();
        (libc::statvfs(path.as_ptr(), &raw mut about), about)
    };
    // The types of the fields differ among systems.
    #[allow(clippy::unnecessary_cast, reason = "u32 on some systems")]
    let (size, blocks) = (about.f_frsize as u64, about.f_bavail as u64);
    let no_files = about.f_files > 0 && about.f_favail == 0;
    code == 0 && (size.saturating_mul(blocks) < LEAST || no_files)
}

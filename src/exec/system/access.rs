//! Who may use a file: its owner and its permissions.

use std::fs::{Metadata, Permissions};
use std::io;
use std::path::Path;

/// Whether the owner of a file may execute it.
pub(crate) fn may_execute(file: &Metadata) -> bool {
    mode(file) & 0o100 != 0
}

/// The type and the permission bits of a file.
pub(crate) fn mode(file: &Metadata) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&file.permissions())
}

/// The user id of a file's owner.
pub(crate) fn owner(file: &Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::uid(file)
}

pub(crate) fn permissions(mode: u32) -> Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(mode)
}

/// Creates a folder and its missing parents, accessible to the user only if
/// folders have permissions.
///
/// # Errors
/// If the system does not allow it.
pub(crate) fn make_private_dir(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

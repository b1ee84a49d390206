//! The files that system calls name, resolved as the kernel does it for the calling thread.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{File, read_link};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::paths::{ResolvedPath, resolve};

/// A name in some system calls.
pub(super) struct CalledName {
    /// The argument with the folder from which the name counts, if one has it.
    pub(super) folder: Option<usize>,
    /// The argument with the name.
    pub(super) at: usize,
    pub(super) kind: NameKind,
    calls: &'static [i64],
}

/// What becomes of the named file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NameKind {
    /// Something that concerns no more than this file.
    Named,
    /// If it is a link, its target is read.
    Read,
    /// It is opened, with the flags in this argument.
    Opened(usize),
    /// It is emptied, or made.
    Created,
    /// It gets another name.
    Moved,
}

use NameKind::{Created, Moved, Named, Opened, Read};

const fn name(
    kind: NameKind,
    folder: Option<usize>,
    at: usize,
    calls: &'static [i64],
) -> CalledName {
    CalledName { folder, at, kind, calls }
}

/// The names in system calls.
const NAMES: [CalledName; 25] = [
    name(Opened(1), None, 0, &[libc::SYS_open]),
    name(Opened(2), Some(0), 1, &[libc::SYS_openat]),
    name(Created, None, 0, &[libc::SYS_creat]),
    name(Read, None, 0, &[libc::SYS_readlink]),
    name(Read, Some(0), 1, &[libc::SYS_readlinkat]),
    name(Moved, None, 0, &[libc::SYS_rename, libc::SYS_link]),
    name(Moved, None, 1, &[libc::SYS_rename]),
    name(Moved, Some(0), 1, &[libc::SYS_renameat, libc::SYS_renameat2, libc::SYS_linkat]),
    name(Moved, Some(2), 3, &[libc::SYS_renameat, libc::SYS_renameat2]),
    name(Moved, Some(0), 1, &[libc::SYS_name_to_handle_at]),
    name(Named, None, 1, &[libc::SYS_link, libc::SYS_symlink, libc::SYS_inotify_add_watch]),
    name(Named, Some(2), 3, &[libc::SYS_linkat]),
    name(Named, Some(1), 2, &[libc::SYS_symlinkat]),
    name(Named, None, 0, &[libc::SYS_stat, libc::SYS_lstat, libc::SYS_access, libc::SYS_statfs]),
    name(Named, Some(0), 1, &[libc::SYS_newfstatat, libc::SYS_statx, libc::SYS_faccessat]),
    name(Named, Some(0), 1, &[libc::SYS_faccessat2]),
    name(Named, None, 0, &[libc::SYS_chdir, libc::SYS_truncate]),
    name(Named, None, 0, &[libc::SYS_mkdir, libc::SYS_mknod, libc::SYS_rmdir, libc::SYS_unlink]),
    name(Named, Some(0), 1, &[libc::SYS_mkdirat, libc::SYS_mknodat, libc::SYS_unlinkat]),
    name(Named, None, 0, &[libc::SYS_chmod, libc::SYS_chown, libc::SYS_lchown]),
    name(Named, Some(0), 1, &[libc::SYS_fchmodat, libc::SYS_fchownat]),
    name(Named, None, 0, &[libc::SYS_utime, libc::SYS_utimes]),
    name(Named, Some(0), 1, &[libc::SYS_futimesat, libc::SYS_utimensat]),
    name(Named, None, 0, &[libc::SYS_getxattr, libc::SYS_lgetxattr, libc::SYS_listxattr]),
    name(Named, None, 0, &[libc::SYS_llistxattr, libc::SYS_setxattr, libc::SYS_lsetxattr]),
];

const OTHER_NAMES: &str = "it gives files other names (`mount`, `chroot` or the like)";
const SHARED: &str = "it shares memory or messages with other processes";

/// The system calls after which not all that a program does can be seen.
pub(super) const UNSEEN: [(i64, &str); 20] = [
    (libc::SYS_io_uring_setup, "it uses io_uring"),
    // Its names may count from another root.
    (libc::SYS_openat2, "it opens files with `openat2`"),
    (libc::SYS_open_by_handle_at, "it opens files by handles"),
    (libc::SYS_chroot, OTHER_NAMES),
    (libc::SYS_pivot_root, OTHER_NAMES),
    (libc::SYS_mount, OTHER_NAMES),
    (libc::SYS_umount2, OTHER_NAMES),
    (libc::SYS_move_mount, OTHER_NAMES),
    (libc::SYS_open_tree, OTHER_NAMES),
    (libc::SYS_fsopen, OTHER_NAMES),
    (libc::SYS_setns, OTHER_NAMES),
    (libc::SYS_fanotify_init, "it watches files (`fanotify`)"),
    (libc::SYS_pidfd_getfd, SHARED),
    (libc::SYS_process_vm_readv, SHARED),
    (libc::SYS_ptrace, SHARED),
    (libc::SYS_shmget, SHARED),
    (libc::SYS_msgget, SHARED),
    (libc::SYS_semget, SHARED),
    (libc::SYS_mq_open, SHARED),
    (libc::SYS_bpf, SHARED),
];

/// The longest name of a file, bytes.
const LONGEST_NAME: usize = 4096;

/// The calls at which a program stops, each once.
pub(super) fn stopping_calls() -> impl Iterator<Item = i64> {
    let named = NAMES.iter().flat_map(|name| name.calls).copied();
    let unseen = UNSEEN.iter().map(|(call, _)| *call);
    let others = [libc::SYS_bind, libc::SYS_connect, libc::SYS_flock, libc::SYS_fcntl];
    let all = named.chain(unseen).chain(others);
    all.collect::<BTreeSet<_>>().into_iter()
}

impl CalledName {
    /// The names in a system call.
    pub(super) fn all(call: i64) -> impl Iterator<Item = &'static CalledName> {
        NAMES.iter().filter(move |name| name.calls.contains(&call))
    }
}

/// Resolves a name for a thread: from the folder with this file descriptor, or from its
/// working directory. The last part is followed if it `follows`.
///
/// # Errors
/// Why that is not possible.
pub(super) fn resolve_for(
    thread: libc::pid_t,
    folder: Option<i32>,
    name: &[u8],
    follows: bool,
) -> Result<ResolvedPath, &'static str> {
    let of_thread = |what: &str| read_link(format!("/proc/{thread}/{what}"));
    if of_thread("root").ok().as_deref() != Some(Path::new("/")) {
        return Err(OTHER_NAMES);
    }
    let name = Path::new(OsStr::from_bytes(name));
    let mut start = PathBuf::from("/");
    if !name.is_absolute() {
        let folder = match folder.filter(|fd| *fd != libc::AT_FDCWD) {
            None => of_thread("cwd"),
            Some(fd) => of_thread(&format!("fd/{fd}")),
        };
        let folder = folder.ok().filter(|folder| folder.is_absolute());
        start = folder.ok_or("it names a file from a folder that is not known")?;
    }
    let of_process = |part: &OsStr| match part.as_bytes() {
        b"self" => Some(process_of(thread).to_string()),
        b"thread-self" => Some(format!("{}/task/{thread}", process_of(thread))),
        _ => None,
    };
    Ok(resolve(start, name, follows, &of_process))
}

/// The process of a thread.
fn process_of(thread: libc::pid_t) -> libc::pid_t {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(thread)
}

/// Bytes at an address.
pub(super) fn bytes(thread: libc::pid_t, address: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    memory(thread)?.read_exact_at(&mut bytes, address)?;
    Ok(bytes)
}

/// The text at an address, without the zero at its end.
pub(super) fn text(thread: libc::pid_t, address: u64) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    while text.len() < LONGEST_NAME {
        let at = address + text.len() as u64;
        // No further than to the end of the page: the next one may not be there.
        let page = bytes(thread, at, (4096 - at % 4096) as usize)?;
        let end = page.iter().position(|byte| *byte == 0);
        text.extend_from_slice(&page[..end.unwrap_or(page.len())]);
        if end.is_some() {
            return Ok(text);
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

pub(super) fn memory(thread: libc::pid_t) -> io::Result<File> {
    File::options().read(true).write(true).open(format!("/proc/{thread}/mem"))
}

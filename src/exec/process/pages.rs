//! Brings files into the page cache and drops them from it.

use std::fs::File;
use std::io;
use std::path::Path;

/// How much of a file is in the page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cached {
    /// How many of its pages are.
    pub(crate) pages: usize,
    /// How many pages it has.
    pub(crate) of: usize,
}

/// Asks the system to drop the pages of a file from the page cache, and returns
/// what is left there. The system keeps pages that a process has mapped, and on
/// some file systems (such as one in memory) all of them. What it has cached of
/// folders and names stays too.
///
/// # Errors
/// When the file can't be read, or the system has no such call.
#[cfg(target_os = "linux")]
pub fn evict(path: &Path) -> io::Result<Cached> {
    use std::os::fd::AsRawFd;
    let file = File::open(path)?;
    // Pages that are not written to the disk yet would stay.
    file.sync_data()?;
    // SAFETY: a plain system call on an open descriptor.
    let number = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    if number != 0 {
        return Err(io::Error::from_raw_os_error(number));
    }
    cached(&file)
}

/// Other systems have no such call.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn evict(_path: &Path) -> io::Result<Cached> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Reads a file to bring it into the page cache.
///
/// # Errors
/// When it can't be read.
pub fn load(path: &Path) -> io::Result<()> {
    io::copy(&mut File::open(path)?, &mut io::sink()).map(drop)
}

#[cfg(target_os = "linux")]
fn cached(file: &File) -> io::Result<Cached> {
    use std::os::fd::AsRawFd;
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    if length == 0 {
        return Ok(Cached::default());
    }
    // SAFETY: sysconf takes a plain number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(1) as usize;
    let of = length.div_ceil(page);
    let mut states = vec![0u8; of];
    // SAFETY: a fresh mapping at an address that the kernel chooses and that is
    // never read; mincore gets the length of the mapping and a byte for each of its
    // pages; then it is unmapped.
    unsafe {
        let start = libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        );
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let status = libc::mincore(start, length, states.as_mut_ptr());
        let error = io::Error::last_os_error();
        libc::munmap(start, length);
        if status != 0 {
            return Err(error);
        }
    }
    Ok(Cached { pages: states.iter().filter(|&&state| state & 1 == 1).count(), of })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_read_is_in_memory_and_one_that_was_evicted_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, vec![7; 100_000]).unwrap();
        load(&path).unwrap();
        let file = File::open(&path).unwrap();
        let all = cached(&file).unwrap();
        assert_eq!(all.pages, all.of);
        assert!(all.of >= 2);
        // How much goes depends on the file system; the count doesn't.
        assert_eq!(evict(&path).unwrap().of, all.of);
        std::fs::write(&path, "").unwrap();
        assert_eq!(evict(&path).unwrap(), Cached::default());
        assert!(evict(&folder.path().join("none")).is_err());
    }
}

//! Files in and out of the page cache.

use std::fs::File;
use std::io;
use std::path::Path;

/// How much of a file is in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cached {
    /// Pages that are.
    pub pages: usize,
    /// Pages that there are.
    pub of: usize,
}

/// Asks the system to drop a file's pages from the page cache, and says what
/// is left there. It keeps those that a process has mapped, and on some file
/// systems (such as one in memory) all of them; what it knows of folders and
/// names stays, too.
///
/// # Errors
/// When the file can't be read, or the system has no such request.
#[cfg(target_os = "linux")]
pub fn evict(path: &Path) -> io::Result<Cached> {
    use std::os::fd::AsRawFd;
    let file = File::open(path)?;
    // Pages that are not yet on the disk would stay.
    file.sync_data()?;
    // SAFETY: a plain system call on an open descriptor.
    let number = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    if number != 0 {
        return Err(io::Error::from_raw_os_error(number));
    }
    cached(&file)
}

/// Elsewhere nobody can be asked.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn evict(_path: &Path) -> io::Result<Cached> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Reads a file, so that it is in the page cache.
///
/// # Errors
/// When it can't be read.
pub fn load(path: &Path) -> io::Result<()> {
    io::copy(&mut File::open(path)?, &mut io::sink()).map(drop)
}

/// How much of a file is in memory.
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
    // SAFETY: a fresh mapping at an address that the kernel chooses, which is
    // never read, asked about over its own length with room for an answer of
    // a byte for each page, and taken away again.
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
        let asked = libc::mincore(start, length, states.as_mut_ptr());
        let error = io::Error::last_os_error();
        libc::munmap(start, length);
        if asked != 0 {
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

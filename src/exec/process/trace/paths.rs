//! What paths lead to.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::FileType;
use std::path::{Component, Path, PathBuf};

/// The maximum number of links in a path, as in Linux.
const MOST_LINKS: usize = 40;

/// The files that the kernel has about processes.
const OF_PROCESSES: &str = "/proc";

/// What a path leads to.
#[derive(Debug)]
pub(super) struct ResolvedPath {
    /// The links on the way, except for the kernel's own.
    pub(super) links: Vec<PathBuf>,
    /// A path without links, except for the last part if that was not to be followed.
    pub(super) path: PathBuf,
    /// What is there; `None` for nothing.
    pub(super) kind: Option<FileType>,
}

/// Resolves a path from the folder `start`, which has no links. The last part is followed if
/// it `follows`. `of_process` replaces the names of the calling process in `/proc`.
pub(super) fn resolve(
    start: PathBuf,
    name: &Path,
    follows: bool,
    of_process: &dyn Fn(&OsStr) -> Option<String>,
) -> ResolvedPath {
    let parts = |path: &Path| path.iter().map(OsStr::to_owned).collect::<Vec<OsString>>();
    let mut rest = VecDeque::from(parts(name));
    let (mut path, mut links) = (start, Vec::new());
    while let Some(part) = rest.pop_front() {
        match Path::new(&part).components().next() {
            Some(Component::Normal(part)) => {
                let other = of_process(part).filter(|_| path == Path::new(OF_PROCESSES));
                path.push(other.map_or(part.to_owned(), OsString::from));
            }
            Some(Component::ParentDir) => {
                path.pop();
                continue;
            }
            Some(Component::CurDir) | None => continue,
            Some(root) => {
                path.push(root);
                continue;
            }
        }
        if rest.is_empty() && !follows {
            break;
        }
        let Ok(target) = path.read_link() else { continue };
        let is_of_kernel = path.starts_with(OF_PROCESSES);
        if is_of_kernel && !target.is_absolute() || links.len() == MOST_LINKS {
            // A pipe, for example, which has no path.
            break;
        }
        if !is_of_kernel {
            links.push(path.clone());
        }
        path.pop();
        parts(&target).into_iter().rev().for_each(|part| rest.push_front(part));
    }
    let kind = path.symlink_metadata().ok().map(|about| about.file_type());
    ResolvedPath { links, path, kind }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::exec::system::write;

    #[test]
    fn a_path_is_resolved_link_by_link() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        write(&root.join("v1/data"), "");
        write(&root.join("v2/data"), "");
        for (target, link) in [("v1", "now"), ("../v2/data", "v1/odd"), ("now/odd", "far")] {
            symlink(target, root.join(link)).unwrap();
        }
        symlink(root.join("v2"), root.join("whole")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let inside = |name: &str, follows| {
            let found = resolve(root.clone(), Path::new(name), follows, &|_| None);
            let short = |path: PathBuf| path.strip_prefix(&root).unwrap().display().to_string();
            let links: Vec<String> = found.links.into_iter().map(short).collect();
            let exists = if found.kind.is_some() { "" } else { " gone" };
            format!("{}{exists} {links:?}", short(found.path))
        };
        for (name, expected) in [
            ("v1/data", "v1/data []"),
            ("./v1/../v1/./data", "v1/data []"),
            ("now/data", r#"v1/data ["now"]"#),
            ("now/../v2/data", r#"v2/data ["now"]"#),
            ("v1/odd", r#"v2/data ["v1/odd"]"#),
            ("far", r#"v2/data ["far", "now", "v1/odd"]"#),
            ("whole/data", r#"v2/data ["whole"]"#),
            ("now/new/file", r#"v1/new/file gone ["now"]"#),
        ] {
            assert_eq!(inside(name, true), expected, "{name}");
        }
        assert_eq!(inside("now/odd", false), r#"v1/odd ["now"]"#);
        assert!(inside("loop", true).starts_with("loop "), "it ends");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_the_calling_process_is_told() {
        let own = format!("{}", std::process::id());
        let of_process = |part: &OsStr| (part == "self").then(|| own.clone());
        let find = |name: &str, follows| {
            let found = resolve("/".into(), Path::new(name), follows, &of_process);
            assert_eq!(found.links, Vec::<PathBuf>::new(), "{name}");
            found.path
        };
        let here = std::env::current_dir().unwrap().canonicalize().unwrap();
        assert_eq!(find("/proc/self/cwd/Cargo.toml", true), here.join("Cargo.toml"));
        assert_eq!(find("/proc/self/root/etc", true), Path::new("/etc"));
        assert_eq!(find("/proc/self/exe", false), Path::new("/proc").join(&own).join("exe"));
        assert_eq!(find("/proc/self/exe", true), std::env::current_exe().unwrap());
        let (reader, _writer) = std::io::pipe().unwrap();
        let descriptor = std::os::fd::AsRawFd::as_raw_fd(&reader);
        let path = format!("/proc/{own}/fd/{descriptor}");
        assert_eq!(find(&format!("/dev/../proc/self/fd/{descriptor}"), true), Path::new(&path));
    }
}

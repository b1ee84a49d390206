//! How long artifacts stay.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::{Room, size};

/// How long an artifact that nobody used is kept.
const MAX_AGE: Duration = Duration::from_secs(30 * DAY);
/// How many bytes of artifacts are kept for one repository.
const MAX_BYTES: u64 = 4 << 30;
/// The file in an artifact's folder that tells since when it counts as old.
const OLD: &str = "old";
/// How long it has to count as old: a clock that is ahead for a moment would
/// make all of them so.
const GRACE: Duration = Duration::from_secs(DAY);
/// Seconds.
const DAY: u64 = 24 * 3600;

impl Room {
    /// Removes what a killed run left half done, artifacts that nobody used
    /// for 30 days, which they have been found to be a day ago, too, and the
    /// longest unused ones beyond 4 GiB; never those of `keep`.
    pub(crate) fn prune(&self, keep: &[String]) {
        self.prune_at(keep, SystemTime::now());
    }

    fn prune_at(&self, keep: &[String], now: SystemTime) {
        let Ok(entries) = std::fs::read_dir(self.builds()) else {
            return;
        };
        let mut found = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            match last_used(&entry.path(), now) {
                Ok(used) if !name.starts_with("new-") => found.push((used, name, entry.path())),
                Err(error) if error.kind() != ErrorKind::NotFound => {}
                _ => drop(std::fs::remove_dir_all(entry.path())),
            }
        }
        found.sort_by_key(|(used, ..)| std::cmp::Reverse(*used));
        let mut total = 0;
        for (used, name, path) in found {
            total += size(&path);
            let age = now.duration_since(used).unwrap_or_default();
            let old = was_old(&path, age > MAX_AGE, now);
            if !keep.contains(&name) && (old || total > MAX_BYTES) {
                let _ = std::fs::remove_dir_all(path);
            }
        }
    }
}

/// When an artifact was last used; what seems to be in the future was now.
fn last_used(artifact: &Path, now: SystemTime) -> io::Result<SystemTime> {
    let manifest = artifact.join("manifest.json");
    let used = manifest.metadata()?.modified()?;
    if used > now {
        // The clock was ahead, or is behind. Else it would stay for too long.
        let _ = File::open(&manifest).and_then(|file| file.set_modified(now));
    }
    Ok(used.min(now))
}

/// Whether an artifact is old and was so a day ago; remembers it for the next
/// time.
fn was_old(artifact: &Path, is_old: bool, now: SystemTime) -> bool {
    let note = artifact.join(OLD);
    if !is_old {
        let _ = std::fs::remove_file(note);
        return false;
    }
    match note.metadata().and_then(|about| about.modified()) {
        Ok(since) => now.duration_since(since).is_ok_and(|age| age >= GRACE),
        Err(_) => {
            let _ = File::create(&note).and_then(|file| file.set_modified(now));
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::cache::{Cache, Inputs, Key};

    const HOUR: Duration = Duration::from_secs(3600);

    /// A room with artifacts of these ages, days.
    fn room(folder: &Path, now: SystemTime, ages: &[u64]) -> (Room, Vec<String>) {
        let room = Cache::open(Some(folder.join("cache"))).unwrap().room(folder, "r").unwrap();
        let artifact = |&age: &u64| {
            let key = Key::new([("age", age.to_string())]);
            room.publish(&key, folder, &[], &[], Vec::new(), Inputs::default()).unwrap();
            let manifest = room.builds().join(key.name()).join("manifest.json");
            let used = now - Duration::from_secs(age * DAY);
            File::open(manifest).unwrap().set_modified(used).unwrap();
            key.name()
        };
        let names = ages.iter().map(artifact).collect();
        (room, names)
    }

    fn there(room: &Room, names: &[String]) -> Vec<bool> {
        names.iter().map(|name| room.builds().join(name).exists()).collect()
    }

    #[test]
    fn what_nobody_used_goes_a_day_after_it_was_found_old() {
        let (folder, now) = (tempfile::tempdir().unwrap(), SystemTime::now());
        let (room, names) = room(folder.path(), now, &[28, 31, 40]);
        let keep = std::slice::from_ref(&names[2]);
        room.prune_at(keep, now);
        room.prune_at(keep, now + 23 * HOUR);
        assert_eq!(there(&room, &names), [true; 3]);
        room.prune_at(keep, now + 24 * HOUR);
        assert_eq!(there(&room, &names), [true, false, true]);
    }

    #[test]
    fn a_clock_that_is_ahead_for_a_moment_removes_nothing() {
        let (folder, now) = (tempfile::tempdir().unwrap(), SystemTime::now());
        let (room, names) = room(folder.path(), now, &[1, 29]);
        let later = now + Duration::from_secs(50 * 365 * DAY);
        for _ in 0..3 {
            room.prune_at(&[], later);
            room.prune_at(&[], later + HOUR);
            room.prune_at(&[], now);
        }
        assert_eq!(there(&room, &names), [true; 2]);
        // Nor does one that is set back, to a time before 1970.
        room.prune_at(&[], SystemTime::UNIX_EPOCH - HOUR);
        assert_eq!(there(&room, &names), [true; 2]);
    }

    #[test]
    fn what_was_used_in_the_future_was_used_now() {
        let (folder, now) = (tempfile::tempdir().unwrap(), SystemTime::now());
        let (room, names) = room(folder.path(), now + Duration::from_secs(1000 * DAY), &[0]);
        room.prune_at(&[], now);
        let later = now + Duration::from_secs(31 * DAY);
        room.prune_at(&[], later);
        room.prune_at(&[], later + GRACE);
        assert_eq!(there(&room, &names), [false]);
    }
}

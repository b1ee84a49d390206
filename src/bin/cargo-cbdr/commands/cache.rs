//! `cargo cbdr cache`: lists and removes what is kept.

use cargo_cbdr::Error;
use cargo_cbdr::workspace::cache::Cache;
use cargo_cbdr::workspace::cache::cleaning::{CachedRepository, Cleaned};
use cargo_cbdr::workspace::git::{self, Repo};

use super::{cache_dir, current_folder};
use crate::cli;
use crate::exit::{CommandResult, ExitKind};
use crate::render::table::TextTable;
use crate::render::{grid, print_text};
use crate::ui::{Ui, text};

pub(crate) fn run(what: &cli::CacheAction) -> CommandResult {
    let cache = Cache::open(cache_dir())?;
    match *what {
        cli::CacheAction::List => list(&cache),
        cli::CacheAction::Clean { all } => clean(&cache, all),
    }
}

fn list(cache: &Cache) -> CommandResult {
    let kept = cache.repositories()?;
    let total: u64 = kept.iter().map(|kept| kept.artifact_bytes + kept.other_bytes).sum();
    let place = text::clean(&cache.path().display().to_string());
    let (number, ies) = (kept.len(), if kept.len() == 1 { "y" } else { "ies" });
    let all = format!("{place}: {} of {number} repositor{ies}\n", text::bytes(total));
    let table = TextTable::of(&kept)
        .text("repository", shown)
        .numbers("builds", |kept| kept.artifacts.to_string())
        .numbers("size", |kept| text::bytes(kept.artifact_bytes))
        .numbers("worktrees", |kept| text::bytes(kept.other_bytes))
        .numbers("used", |kept| {
            let used = kept.used.and_then(|used| used.elapsed().ok());
            used.map_or("-".to_owned(), |age| format!("{} ago", text::roughly(age.as_secs_f64())))
        })
        .build();
    print_text(&(all + &grid::drawn(&table)))?;
    Ok(ExitKind::Success)
}

/// The root of a repository, and whether it is gone.
fn shown(kept: &CachedRepository) -> String {
    let Some(path) = &kept.repository else {
        return text::clean(&kept.folder.display().to_string());
    };
    let is_inside = path.file_name().is_some_and(|name| name == ".git");
    let root = if is_inside { path.parent().unwrap_or(path) } else { path };
    let gone = if path.exists() { "" } else { " (gone)" };
    text::clean(&format!("{}{gone}", root.display()))
}

fn clean(cache: &Cache, all: bool) -> CommandResult {
    let cleaned = if all {
        cache.clean()?
    } else {
        let repo = Repo::discover(&current_folder()?).map_err(|error| match error {
            git::Error::Refused { what, .. } => {
                let hint = Some("`--all` cleans the cache of every repository".to_owned());
                git::Error::Refused { what, hint }
            }
            error => error,
        });
        let repo = repo.map_err(Error::from)?;
        let repository = cache.repository(repo.common_dir(), &repo.name())?;
        vec![(repository.path().to_owned(), repository.clean()?)]
    };
    let mut ui = Ui::new();
    for (folder, cleaned) in cleaned {
        let folder = text::path(&folder);
        let (verb, what) = match cleaned {
            Cleaned::Freed(freed) => ("Removed", format!("{} of {folder}", text::bytes(freed))),
            Cleaned::InUse(holder) => ("Leaving", format!("{folder}, in use by {holder}")),
        };
        ui.status(verb, &what);
    }
    Ok(ExitKind::Success)
}

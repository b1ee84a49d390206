//! `cargo cbdr cache`: lists and removes what is kept.

use std::io::Write;
use std::path::Path;

use cargo_cbdr::Error;
use cargo_cbdr::model::metric::Unit;
use cargo_cbdr::workspace::cache::{Cache, CachedRepository, Cleaned};
use cargo_cbdr::workspace::git::Repo;

use super::request::cache_dir;
use crate::cli;
use crate::exit::Exit;
use crate::render::grid;
use crate::render::table::TextTable;
use crate::ui::{Failure, Ui, text};

pub(crate) fn run(what: &cli::Cache) -> Result<Exit, Failure> {
    let cache = Cache::open(cache_dir()).map_err(Error::from)?;
    match *what {
        cli::Cache::List => list(&cache),
        cli::Cache::Clean { all } => clean(&cache, all),
    }
}

fn list(cache: &Cache) -> Result<Exit, Failure> {
    let kept = cache.repositories().map_err(Error::from)?;
    let mut out = anstream::stdout().lock();
    let total: u64 = kept.iter().map(|kept| kept.artifact_bytes + kept.other_bytes).sum();
    let place = text::clean(&cache.path().display().to_string());
    let repositories = match kept.len() {
        1 => "1 repository".to_owned(),
        number => format!("{number} repositories"),
    };
    writeln!(out, "{place}: {} of {repositories}", bytes(total))?;
    if kept.is_empty() {
        return Ok(Exit::Success);
    }
    let table = TextTable::of(&kept)
        .text("repository", shown)
        .numbers("builds", |kept| kept.artifacts.to_string())
        .numbers("size", |kept| bytes(kept.artifact_bytes))
        .numbers("worktrees", |kept| bytes(kept.other_bytes))
        .numbers("used", |kept| {
            let used = kept.used.and_then(|used| used.elapsed().ok());
            used.map_or("-".to_owned(), |age| format!("{} ago", text::roughly(age.as_secs_f64())))
        })
        .build();
    grid::print(&mut out, &table)?;
    Ok(Exit::Success)
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

fn clean(cache: &Cache, all: bool) -> Result<Exit, Failure> {
    let mut ui = Ui::new();
    if all {
        for (folder, cleaned) in cache.clean().map_err(Error::from)? {
            show(&mut ui, &folder, &cleaned);
        }
        return Ok(Exit::Success);
    }
    let repo = Repo::discover(&super::current_folder()?).map_err(Error::from)?;
    let repository = cache.repository(repo.common_dir(), &repo.name()).map_err(Error::from)?;
    let cleaned = repository.clean().map_err(Error::from)?;
    show(&mut ui, repository.path(), &cleaned);
    Ok(Exit::Success)
}

fn bytes(number: u64) -> String {
    text::value(number as f64, &Unit::Bytes)
}

fn show(ui: &mut Ui, folder: &Path, cleaned: &Cleaned) {
    match cleaned {
        Cleaned::Freed(freed) => {
            ui.status("Removed", &format!("{} of `{}`", bytes(*freed), folder.display()));
        }
        Cleaned::InUse(holder) => {
            ui.status("Leaving", &format!("`{}`, in use by {holder}", folder.display()));
        }
    }
}

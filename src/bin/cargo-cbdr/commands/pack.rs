//! `cargo cbdr pack`.

use std::path::PathBuf;

use cargo_cbdr::Options;
use cargo_cbdr::exec::execution::Context;
use cargo_cbdr::flows::compare::pack::{Packed, pack};
use cargo_cbdr::workspace::names::is_revision;

use super::compare::with_sides;
use super::{current_folder, random_seed, request};
use crate::cli::Pack;
use crate::exit::{CommandResult, ExitKind};
use crate::failure::Failure;
use crate::ui::{Ui, text};

/// Packs what is asked for.
pub(crate) fn run(args: &Pack, context: Context<'_>) -> CommandResult {
    let mut ui = Ui::new();
    let mut flags = args.settings.0.clone();
    let file = args.file.clone().or_else(|| flags.base.take().map(PathBuf::from));
    let Some(file) = file else {
        return Failure::arguments("name the file to write: `cargo cbdr pack [BASE] FILE`");
    };
    if args.file.is_none() && is_revision(&current_folder()?, &file) {
        let file = file.display();
        let what =
            format!("`{file}` is a revision: name the file, too: `cargo cbdr pack {file} FILE`");
        return Failure::arguments(what);
    }
    let request = with_sides(request(flags)?, &args.sides);
    let seed = args.seed.seed.unwrap_or_else(random_seed);
    let options = Options { request, seed, ..Options::default() };
    let packed = pack(&options, (&file, args.layouts), context, &mut |event| ui.show(&event));
    ui.end();
    let Packed { bytes, seconds, affected, unaffected, layouts } = packed?;
    let affected = text::count(affected as u64, "benchmark");
    let linked = format!(", {} of each side", text::count(layouts, "layout"));
    let layouts = if layouts > 0 { linked } else { String::new() };
    let (time, file) = (text::seconds(seconds), text::path(&file));
    let size = format!("{:.1} MB", bytes as f64 / 1e6);
    let what = format!("{affected} to measure and {unaffected} unaffected{layouts}, in {time}");
    ui.status("Packed", &format!("{what}: {file}, {size}"));
    Ok(ExitKind::Success)
}

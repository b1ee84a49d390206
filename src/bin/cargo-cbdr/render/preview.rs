//! What `compare --dry-run` prints.

use cargo_cbdr::model::{Shard, Waiver};
use cargo_cbdr::settings::origin::{Layer, ResolvedSetting};
use cargo_cbdr::workspace::{Preview, PreviewedBenchmark, PreviewedShard};
use serde_json::{Map, Value, json};

use super::escape::line;
use super::grid;
use super::table::TextTable;
use crate::ui::fold::paragraph;
use crate::ui::{grouped, text};

/// Sentences and tables.
pub(crate) fn report(preview: &Preview, shard: Option<Shard>) -> String {
    let part = shard.map_or(String::new(), |shard| format!(", as shard {shard}"));
    let sides = line(&text::sides(&preview.sides));
    let mut out = paragraph(&format!("Would compare {sides}{part}."), 2);
    if let Some(toolchain) = &preview.toolchain {
        out += &paragraph(&format!("The head's compiler is {}.", line(toolchain)), 2);
    }
    let shards = preview.shards(shard.map_or(1, |shard| shard.of));
    if !preview.benchmarks.is_empty() {
        out += &paragraph(&duration(preview, shards.is_some()), 2);
    }
    let mut tables: Vec<TextTable> = shards.map(|shards| machines(&shards)).into_iter().collect();
    if !preview.benchmarks.is_empty() {
        tables.extend([benchmarks(preview), gates(preview)]);
    }
    for table in tables.iter().chain([&settings(preview)]) {
        out += &format!("\n{}", grid::drawn(table));
    }
    if !preview.removed.is_empty() {
        let names = text::removed_names(&preview.removed, usize::MAX);
        out += &format!("\n{}", paragraph(&format!("Removed: {}.", line(&names)), 2));
    }
    out
}

/// How long it takes.
fn duration(preview: &Preview, has_times: bool) -> String {
    let limit = text::option(preview.time_limit);
    // Only a pack knows its folder.
    let known = match preview.folder {
        Some(_) if has_times => {
            "the times below are the least, on a machine as fast as the one that packed"
        }
        Some(_) => "the machines divide the pairs, and each measures all benchmarks",
        None => {
            "how long verdicts take is not known before the benchmarks have run: \
             `cargo cbdr pack FILE` runs them, and `compare --packed FILE --dry-run` shows it"
        }
    };
    format!("Each machine samples for {limit} at most; {known}.")
}

fn machines(shards: &[PreviewedShard]) -> TextTable {
    let shards: Vec<_> = (1..).zip(shards).collect();
    TextTable::of(&shards)
        .numbers("machine", |(number, _): &(u64, _)| number.to_string())
        .numbers("benchmarks", |(_, shard)| shard.benchmarks.len().to_string())
        .numbers("at least", |(_, shard)| text::seconds(shard.least_seconds))
        .build()
}

fn benchmarks(preview: &Preview) -> TextTable {
    let words = |words: Option<&Vec<String>>| words.map(|words| words.join(" "));
    let has_commands = preview.benchmarks.iter().any(|of| of.command.is_some());
    TextTable::of(&preview.benchmarks)
        .text("program", |of| of.name.clone())
        .text("package", |of| of.package.clone())
        .text("built by", |of| words(of.build.head.as_ref()).unwrap_or("-".to_owned()))
        .leaves(1)
        .when(has_commands, |table| {
            table.text("runs", |of| words(of.command.as_ref()).unwrap_or_default())
        })
        .text("baseline", |of| {
            of.is_new.as_ref().map_or("yes".to_owned(), |why| format!("no: {why}"))
        })
        .build()
}

fn gates(preview: &Preview) -> TextTable {
    let benchmarks = preview.benchmarks.iter();
    let gates: Vec<_> =
        benchmarks.flat_map(|of| of.gates.iter().map(move |gate| (of, gate))).collect();
    let waiver = |waiver: &Waiver| {
        let of = waiver.benchmark.as_ref().map_or(String::new(), |it| format!(" of {it}"));
        let ceiling = text::limit(waiver.ceiling);
        format!("{ceiling}{of} until {}: {}", waiver.expires, waiver.reason)
    };
    TextTable::of(&gates)
        .text("program", |(of, _)| of.name.clone())
        .text("decides", |(of, gate)| match of.gates_are_default {
            true => format!("{} or the harness's", gate.metric),
            false => gate.metric.clone(),
        })
        .numbers("threshold", |(_, gate)| match gate.learnt {
            Some(_) => "auto".to_owned(),
            None => text::limit(gate.threshold),
        })
        .when(gates.iter().any(|(_, gate)| gate.warn.is_some()), |table| {
            table.numbers("warning", |(_, gate)| gate.warn.map(text::limit).unwrap_or_default())
        })
        .when(gates.iter().any(|(_, gate)| gate.waiver.is_some()), |table| {
            table.text("waiver", |(_, gate)| gate.waiver.as_ref().map(waiver).unwrap_or_default())
        })
        .build()
}

/// The settings, each with the program that it is of, unless all have it.
fn settings(preview: &Preview) -> TextTable {
    let benchmarks = &preview.benchmarks;
    let are_shared = |setting: &ResolvedSetting| {
        benchmarks.iter().all(|benchmark| benchmark.settings.contains(setting))
    };
    let first = benchmarks.iter().take(1).flat_map(|of| &of.settings);
    let shared = preview.settings.iter().chain(first.filter(|one| are_shared(one)));
    let own = benchmarks.iter().flat_map(|of| of.settings.iter().map(move |one| (Some(of), one)));
    let own = own.filter(|(_, one)| !are_shared(one));
    let rows: Vec<_> = shared.map(|one| (None, one)).chain(own).collect();
    TextTable::of(&rows)
        .text("setting", |(_, setting)| setting.key.clone())
        .text("value", |(_, setting)| match &setting.value {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        })
        .text("from", |(_, setting)| origin(setting))
        .when(rows.iter().any(|(of, _)| of.is_some()), |table| {
            table.text("only for", |(of, _)| of.map_or(String::new(), |of| of.name.clone()))
        })
        .build()
}

fn origin(setting: &ResolvedSetting) -> String {
    match (setting.layer, setting.side) {
        (layer @ (Layer::Flag | Layer::Pack | Layer::Default), _) => layer.to_string(),
        (layer, None) => format!("{layer}'s table"),
        (layer, Some(side)) => format!("{layer}'s table, {side}"),
    }
}

/// The same as one JSON object.
pub(crate) fn json(preview: &Preview, shard: Option<Shard>) -> Value {
    let one = |(number, shard): (u64, &PreviewedShard)| {
        let PreviewedShard { benchmarks, least_seconds } = shard;
        json!({ "number": number, "benchmarks": benchmarks, "least_seconds": least_seconds })
    };
    let shards = preview.shards(shard.map_or(1, |shard| shard.of));
    let shards = shards.map(|shards| (1..).zip(&shards).map(one).collect::<Vec<_>>());
    let mut object = json!({
        "schema": 1,
        "dry_run": true,
        "shard": shard,
        "toolchain": preview.toolchain,
        "time_limit": preview.time_limit.as_secs_f64(),
        "shards": shards,
        "needs": {
            "target": preview.target, "folder": preview.folder, "programs": preview.programs,
        },
        "policy_from": preview.policy_from,
        "settings": object_of(&preview.settings),
        "benchmarks": preview.benchmarks.iter().map(benchmark).collect::<Vec<_>>(),
        "removed": preview.removed,
        "notices": preview.notices.iter().map(grouped::text).collect::<Vec<_>>(),
    });
    if let (Some(object), Value::Object(sides)) = (object.as_object_mut(), json!(preview.sides)) {
        object.extend(sides);
    }
    object
}

fn benchmark(of: &PreviewedBenchmark) -> Value {
    json!({
        "name": of.name,
        "status": if of.is_new.is_some() { "new" } else { "compared" },
        "reason": of.is_new,
        "package": of.package,
        "command": of.command,
        "build": { "base": of.build.base, "head": of.build.head },
        "gates": of.gates,
        "gates_are_default": of.gates_are_default,
        "settings": object_of(&of.settings),
    })
}

/// By key, each with its value, its layer, and the side whose table it is.
fn object_of(settings: &[ResolvedSetting]) -> Map<String, Value> {
    let entry = |one: &ResolvedSetting| {
        (one.key.clone(), json!({ "value": one.value, "from": one.layer, "side": one.side }))
    };
    settings.iter().map(entry).collect()
}

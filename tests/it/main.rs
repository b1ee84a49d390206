//! The promises, with one file for each, tested with the real binary and on
//! repositories created from `fixtures/`.

#![allow(clippy::unwrap_used)]
// What only tests for Linux use.
#![cfg_attr(not(target_os = "linux"), allow(dead_code))]

#[cfg(unix)]
mod action;
#[cfg(target_os = "linux")]
mod adversary;
#[cfg(target_os = "linux")]
mod again;
mod allocations;
mod analyze;
mod bisect;
#[cfg(target_os = "linux")]
mod build_commands;
mod cache;
#[cfg(target_os = "linux")]
mod codegen_units;
mod compare;
mod completions;
mod configuration;
#[cfg(unix)]
mod docs;
mod doctor;
mod dry_run;
mod error_rates;
#[cfg(target_os = "linux")]
mod explain;
#[cfg(unix)]
mod fetch;
#[cfg(target_os = "linux")]
mod forbidden;
mod golden;
mod harness;
mod harnesses;
#[cfg(target_os = "linux")]
mod heap;
mod help;
#[cfg(target_os = "linux")]
mod history;
#[cfg(unix)]
mod hook;
#[cfg(unix)]
mod hostile;
mod init;
#[cfg(target_os = "linux")]
mod kill;
mod layouts;
#[cfg(target_os = "linux")]
mod lookback;
mod manner;
#[cfg(target_os = "linux")]
mod measuring;
#[cfg(unix)]
mod meter;
mod odd_input;
#[cfg(unix)]
mod odd_repositories;
mod opened;
#[cfg(target_os = "linux")]
mod outputs;
#[cfg(target_os = "linux")]
mod pack;
#[cfg(target_os = "linux")]
mod pinned;
mod plot;
mod policy;
#[cfg(target_os = "linux")]
mod process;
mod properties;
#[cfg(target_os = "linux")]
mod relink;
mod reports;
mod rounds;
mod run_metrics;
#[cfg(unix)]
mod same_work;
#[cfg(unix)]
mod sample;
mod schema;
#[cfg(target_os = "linux")]
mod shards;
#[cfg(unix)]
mod sides;
mod suite;
mod support;
mod targets;
mod tidy;
#[cfg(unix)]
mod traps;
#[cfg(unix)]
mod triggers;
#[cfg(target_os = "linux")]
mod unaffected;
mod waivers;
mod walk;

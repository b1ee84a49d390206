//! Where the values of settings come from.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::model::side::Side;
use crate::model::words::display_serialized;

/// A layer of settings, from the one that wins to the one that is overridden by all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// The command line.
    Flag,
    /// `[package.metadata.cbdr.benchmarks.NAME]`.
    Benchmark,
    /// `[package.metadata.cbdr]`.
    Package,
    /// `[workspace.metadata.cbdr]`.
    Workspace,
    /// What was in force when a pack was made, which keeps no layers.
    Pack,
    /// No layer sets it.
    Default,
}

display_serialized!(Layer);

/// A layer of one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SettingOrigin {
    pub(crate) layer: Layer,
    /// Whose table it is; `None` for flags and defaults.
    pub(crate) side: Option<Side>,
}

/// The origins of a table's values, by key; those of single metrics by `KEY.METRIC`.
#[derive(Clone, Debug, Default)]
pub struct Origins(BTreeMap<String, SettingOrigin>);

/// Tables with the same values are equal, wherever these come from.
impl PartialEq for Origins {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Origins {
    /// Those of values that one layer sets; a table's until it is known to be the base's.
    pub(super) fn of(entries: &[(&'static str, Value)], layer: Layer) -> Self {
        let origin = SettingOrigin { layer, side: (layer != Layer::Flag).then_some(Side::Head) };
        let keys = entries.iter().flat_map(|(key, value)| {
            let metrics = value.as_object().into_iter().flatten();
            let metrics = metrics.map(move |(metric, _)| format!("{key}.{metric}"));
            std::iter::once((*key).to_owned()).chain(metrics)
        });
        Origins(keys.map(|key| (key, origin)).collect())
    }

    pub(super) fn get(&self, key: &str) -> SettingOrigin {
        self.0.get(key).copied().unwrap_or(SettingOrigin { layer: Layer::Default, side: None })
    }

    /// These, over those of a lower layer.
    pub(super) fn over(self, mut low: Self) -> Self {
        low.0.extend(self.0);
        low
    }

    /// Replaces those of some keys by the base's.
    pub(super) fn take_from_base(&mut self, is_taken: impl Fn(&str) -> bool, base: &Self) {
        let is_taken = |key: &str| is_taken(key.split('.').next().unwrap_or(key));
        self.0.retain(|key, _| !is_taken(key));
        let taken = base.0.iter().filter(|(key, _)| is_taken(key));
        self.0.extend(taken.map(|(key, origin)| {
            (key.clone(), SettingOrigin { side: origin.side.map(|_| Side::Base), ..*origin })
        }));
    }
}

/// A setting in force, with where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedSetting {
    /// Its key in the tables; `KEY.METRIC` for a metric of its own.
    pub key: String,
    /// Its value as it is written.
    pub value: Value,
    /// Which layer sets it.
    pub layer: Layer,
    /// Whose table that is; `None` for flags, packs and defaults.
    pub side: Option<Side>,
}

//! Histograms in the terminal, side by side, and what they share with the ones of the page.

pub(crate) mod axis;
pub(crate) mod bins;
pub(crate) mod vega;

use anstyle::{AnsiColor, Style};
use cargo_cbdr::model::metric::Metric;
use cargo_cbdr::samples::Recording;

use crate::render::escape::line;
use crate::ui::width;
use axis::Axis;
use bins::Bins;

/// The colours of the labels, in turn.
const COLOURS: [AnsiColor; 4] =
    [AnsiColor::Cyan, AnsiColor::Yellow, AnsiColor::Magenta, AnsiColor::Green];

/// If bars would be narrower than this, the labels are shown below each other.
const NARROW: usize = 16;

/// The most bins of a histogram.
const BINS: usize = 16;

/// The eighths of a column.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// A histogram of each of the metrics, in `width` columns.
pub(crate) fn histograms(recording: &Recording, metrics: &[Metric], width: usize) -> String {
    let all = metrics.iter().map(|metric| histogram(recording, metric, width));
    all.collect::<Vec<_>>().join("\n")
}

fn histogram(recording: &Recording, metric: &Metric, width: usize) -> String {
    let bold = Style::new().bold();
    let all: Vec<&str> = recording.labels().collect();
    let order = order(recording, all.len());
    let values = |&label: &usize| recording.values(label, &metric.name).flatten().collect();
    let values: Vec<Vec<f64>> = order.iter().map(values).collect();
    let mut out = format!("{bold}{}{bold:#}\n", line(&metric.name));
    let Some(bins) = Bins::new(&values, BINS) else {
        return out + "  no run has a value\n";
    };
    let axis = Axis::new(&metric.unit, bins.edge(0), bins.edge(bins.len()), bins.width);
    // A bin alone is around a single value, which is what it is called by.
    let within = if bins.len() == 1 { 0.5 * bins.width } else { 0.0 };
    let edge = |bin| axis.label(bins.edge(bin) + within);
    let edges: Vec<String> = (0..bins.len()).map(edge).collect();
    let margin = edges.iter().map(|edge| width::columns(edge)).max().unwrap_or(0) + 2;
    let columns = width.saturating_sub(margin) / order.len();
    let (together, columns) = match columns > NARROW + 1 {
        true => (order.len(), columns - 1),
        false => (1, width.saturating_sub(margin + 1).max(1)),
    };
    let largest = bins.largest();
    let places: Vec<usize> = (0..order.len()).collect();
    for places in places.chunks(together) {
        let title = |&place: &usize| {
            let title = format!("{} ({})", line(all[order[place]]), bins.totals[place]);
            (place, cut(&title, columns))
        };
        out += &format!("{:margin$}{}\n", "", beside(places.iter().map(title), columns));
        for (bin, edge) in edges.iter().enumerate() {
            let bar = |&place: &usize| (place, bar(bins.share(place, bin) / largest, columns));
            let bars = beside(places.iter().map(bar), columns);
            let row = format!("{}  {bars}", width::right_aligned(edge, margin - 2));
            out += &format!("{}\n", row.trim_end());
        }
    }
    let missing = bins.not_drawn(&metric.unit);
    out.extend(missing.map(|missing| format!("{:margin$}{missing}\n", "")));
    out
}

/// The numbers of the labels, each base before the label that is compared with it.
fn order(recording: &Recording, labels: usize) -> Vec<usize> {
    let compared = recording.comparisons().iter().flat_map(|c| [c.labels.base, c.labels.head]);
    let mut order = Vec::new();
    for label in compared.chain(0..labels) {
        if !order.contains(&label) {
            order.push(label);
        }
    }
    order
}

/// Texts in the colours of their labels, so many columns each and one between them.
fn beside(texts: impl Iterator<Item = (usize, String)>, columns: usize) -> String {
    let mut row = String::new();
    let mut gap = 0;
    for (label, text) in texts {
        row += &" ".repeat(gap);
        gap = columns + 1 - width::columns(&text);
        if !text.is_empty() {
            let style = COLOURS[label % COLOURS.len()].on_default();
            row += &format!("{style}{text}{style:#}");
        }
    }
    row
}

/// A bar over a share of the columns. A share above 0 is always seen.
fn bar(share: f64, columns: usize) -> String {
    let eighths = (share * 8.0 * columns as f64).round() as usize;
    let eighths = if share > 0.0 { eighths.max(1) } else { 0 };
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// A text, without its end if it is too long.
fn cut(text: &str, columns: usize) -> String {
    if width::columns(text) <= columns {
        return text.to_owned();
    }
    format!("{}…", width::beginning(text, columns.saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cargo_cbdr::model::metric::Units;

    fn drawn(width: usize) -> String {
        drawn_in(Units::new(), width)
    }

    fn drawn_in(units: Units, width: usize) -> String {
        let mut recording = Recording::new(None, units);
        let rows: String = (0..60)
            .map(|n| format!("base,{}\nhead,{}\n", 1.0 + 0.01 * f64::from(n % 7), 1.1))
            .collect();
        recording.read(&mut format!("benchmark,wall_time\n{rows}").as_bytes(), "it").unwrap();
        width::plain(&histograms(&recording, recording.metrics(), width))
    }

    #[test]
    fn labels_stand_side_by_side_where_there_is_room() {
        let text = drawn(80);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "wall_time");
        assert!(lines[1].contains("base (60)") && lines[1].contains("head (60)"), "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn equal_values_are_drawn_beside_their_own() {
        let mut recording = Recording::new(None, Units::new());
        let rows = "benchmark,switches,wall_time\nbase,1,0.002\nhead,1,0.002\n";
        recording.read(&mut rows.as_bytes(), "it").unwrap();
        let text = width::plain(&histograms(&recording, recording.metrics(), 80));
        assert!(text.contains("\n1.00  █") && text.contains("\n2.00 ms  █"), "{text}");
    }

    #[test]
    fn a_narrow_terminal_has_them_below_each_other() {
        for width in [20, 40] {
            let text = drawn(width);
            assert!(text.lines().any(|line| line.trim() == "base (60)"), "{text}");
            assert!(text.lines().any(|line| line.trim() == "head (60)"), "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        }
    }

    #[test]
    fn bars_are_below_their_label_whatever_the_unit() {
        let units = serde_json::json!({"wall_time": {"unit": "回", "better": "lower"}});
        let text = drawn_in(serde_json::from_value(units).unwrap(), 80);
        let column = |line: &str, what: &str| width::columns(line.split(what).next().unwrap());
        let label = text.lines().nth(1).unwrap();
        let bar = text.lines().find(|line| line.contains('█')).unwrap();
        assert_eq!(column(label, "base"), column(bar, "█"), "{text}");
    }

    #[test]
    fn bars_have_eighths_and_what_is_there_is_seen() {
        assert_eq!(bar(1.0, 3), "███");
        assert_eq!(bar(0.5, 3), "█▌");
        assert_eq!((bar(1e-9, 3).as_str(), bar(0.0, 3).as_str()), ("▏", ""));
    }
}

//! Flame graphs of a regressed benchmark: what each call stack costs on both sides, drawn by
//! inferno.
//!
//! A picture has the widths of one side and the colours of the difference (Gregg 2014,
//! *Differential flame graphs*): two pictures, so that what only one side executes is in one.

use std::mem::discriminant;

use cargo_cbdr::model::{Cost, Explanation, Pair, Side, StackCost, StackFrame};
use inferno::flamegraph::color::{BasicPalette, Palette};
use inferno::flamegraph::{Options, TextTruncateDirection, from_lines};

/// What marks a function whose code differs.
pub(crate) const MARK: char = '*';

/// The width of a picture in a page, pixels.
const WIDTH: usize = 1100;

/// The least width of a function that is drawn, as a percentage of the whole.
const LEAST_WIDTH: f64 = 0.1;

/// In what the costs are written: inferno knows whole numbers only.
struct Scale {
    /// So many of these are one unit of the cost.
    parts: f64,
    shown: &'static str,
    title: &'static str,
}

impl Scale {
    fn of(cost: Cost) -> Self {
        match cost {
            Cost::Seconds(_) => {
                Scale { parts: 1e12, shown: "ps", title: "Time of an iteration on the head" }
            }
            // There are no call stacks of bytes.
            Cost::Instructions(_) | Cost::Bytes(_) => {
                Scale { parts: 1.0, shown: "instructions", title: "Instructions on the head" }
            }
        }
    }

    fn weight(&self, stack: &StackCost, side: Side) -> u64 {
        (stack.cost[side] * self.parts).round() as u64
    }

    /// The stacks with the costs of the other side and of this one, sorted.
    fn lines(&self, stacks: &[StackCost], side: Side) -> Vec<String> {
        let line = |stack: &StackCost| {
            let names = names(stack, |frame| match frame.differs {
                true => format!("{MARK} {}", frame.function),
                false => frame.function.clone(),
            });
            let [other, own] = [side.other(), side].map(|side| self.weight(stack, side));
            (own > 0).then(|| format!("{names} {other} {own}"))
        };
        let mut lines: Vec<String> = stacks.iter().filter_map(line).collect();
        lines.sort_unstable();
        lines
    }

    fn options(&self, side: Side) -> Options<'static> {
        let mut options = Options::default();
        options.colors = Palette::Basic(BasicPalette::Red);
        options.count_name = self.shown.to_owned();
        options.text_truncate_direction = TextTruncateDirection::Left;
        // The difference is always that of the head to the base; the second number is the width.
        options.negate_differentials = side == Side::Base;
        options
    }
}

/// The stacks of all benchmarks, each below the benchmark's name, and their scale: that of the
/// first ones. Those in another unit are left out.
fn together(explanations: &[Explanation]) -> (Scale, Vec<StackCost>) {
    let mut known = explanations.iter().filter(|one| !one.stacks.is_empty()).peekable();
    let cost = known.peek().map_or(Cost::Instructions(Pair::default()), |first| first.cost);
    let stacks =
        known.filter(|one| discriminant(&one.cost) == discriminant(&cost)).flat_map(|of| {
            let root = StackFrame { function: of.benchmark.clone(), differs: false };
            of.stacks.iter().map(move |StackCost { frames, cost }| StackCost {
                frames: std::iter::once(&root).chain(frames).cloned().collect(),
                cost: *cost,
            })
        });
    (Scale::of(cost), stacks.collect())
}

/// A file that a browser shows, in which one can zoom and search.
pub(crate) fn file(explanations: &[Explanation]) -> String {
    let (scale, stacks) = together(explanations);
    let mut options = scale.options(Side::Head);
    options.title = scale.title.to_owned();
    options.subtitle =
        Some(format!("red: more than on the base, blue: less; {MARK}: the code differs"));
    options.min_width = LEAST_WIDTH;
    let mut lines = scale.lines(&stacks, Side::Head);
    if lines.is_empty() {
        lines.push("nothing has regressed, or its call stacks are not known 1 1".to_owned());
    }
    draw(&mut options, &lines)
}

/// The stacks of a side, for other programs: a line for each, with its instructions or
/// picoseconds.
pub(crate) fn folded(explanations: &[Explanation], side: Side) -> String {
    let (scale, stacks) = together(explanations);
    let line = |stack: &StackCost| {
        let names = names(stack, |frame| frame.function.clone());
        let weight = scale.weight(stack, side);
        (weight > 0).then(|| format!("{names} {weight}\n"))
    };
    stacks.iter().filter_map(line).collect()
}

/// A picture in a page, with the widths of a side. `None` where the stacks are not known.
pub(crate) fn picture(explanation: &Explanation, side: Side) -> Option<String> {
    let scale = Scale::of(explanation.cost);
    let lines = scale.lines(&explanation.stacks, side);
    if lines.is_empty() {
        return None;
    }
    let mut options = scale.options(side);
    options.title = String::new();
    options.image_width = Some(WIDTH);
    // A pixel.
    options.min_width = 100.0 / WIDTH as f64;
    // That of a letter, and of the margins that inferno does not count.
    options.font_width = 0.66;
    options.no_javascript = true;
    let file = draw(&mut options, &lines);
    // The rest of the file is a style that would hold for the whole page, and buttons that do
    // nothing without a script.
    let head = between(&file, "<svg version=\"1.1\"", " viewBox")?;
    let height: usize = between(head, "height=\"", "\"")?.parse().ok()?;
    let (_, frames) = file.split_once("<svg id=\"frames\"")?;
    // The lowest frame is that of all, without a name.
    let (above, below) = (3 * options.font_size, 2 * options.font_size + 10 + options.frame_height);
    let height = height.checked_sub(above + below)?;
    Some(format!(
        "<svg width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 {above} {WIDTH} {height}\"><svg{frames}"
    ))
}

fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    Some(text.split_once(before)?.1.split_once(after)?.0)
}

fn draw(options: &mut Options<'_>, lines: &[String]) -> String {
    let mut svg = Vec::new();
    // It fails without a stack, and after it has drawn that there is none.
    let _ = from_lines(options, lines.iter().map(String::as_str), &mut svg);
    String::from_utf8(svg).unwrap_or_default()
}

fn names(stack: &StackCost, name: impl Fn(&StackFrame) -> String) -> String {
    // A semicolon separates functions.
    let names = stack.frames.iter().map(|frame| name(frame).replace(';', ","));
    names.collect::<Vec<_>>().join(";")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explanation(stacks: &[(&[&str], u64, u64)]) -> Explanation {
        let frame =
            |name: &&str| StackFrame { function: (*name).to_owned(), differs: *name == "parse" };
        let stacks = stacks.iter().map(|(names, base, head)| StackCost {
            frames: names.iter().map(frame).collect(),
            cost: Pair { base: *base as f64, head: *head as f64 },
        });
        Explanation {
            benchmark: "words".to_owned(),
            cost: Cost::Instructions(Pair::default()),
            functions: Vec::new(),
            hot: None,
            stacks: stacks.collect(),
        }
    }

    fn parser() -> Explanation {
        explanation(&[
            (&["main"], 10, 10),
            (&["main", "parse"], 500, 900),
            (&["main", "parse", "<[u8; 4]>::eq"], 0, 300),
            (&["main", "gone"], 40, 0),
        ])
    }

    #[test]
    fn folded_stacks_are_those_of_a_side() {
        let of = |side| folded(&[parser()], side);
        assert_eq!(of(Side::Base), "words;main 10\nwords;main;parse 500\nwords;main;gone 40\n");
        assert!(of(Side::Head).ends_with("words;main;parse;<[u8, 4]>::eq 300\n"));
    }

    #[test]
    fn a_picture_has_the_widths_of_one_side_and_the_colours_of_the_difference() {
        let head = picture(&parser(), Side::Head).unwrap();
        // 400 more in itself; what is called is counted in its width.
        assert!(head.contains("* parse (1,200 instructions, 99.17%; +33.06%)"), "{head}");
        assert!(head.contains("&lt;[u8, 4]&gt;::eq (300 instructions"), "{head}");
        assert!(!head.contains("gone"), "{head}");
        let base = picture(&parser(), Side::Base).unwrap();
        assert!(base.contains("* parse (500 instructions, 90.91%; +72.73%)"), "{base}");
        assert!(base.contains("gone (40 instructions, 7.27%; -7.27%)"), "{base}");
    }

    #[test]
    fn times_of_nanoseconds_are_drawn() {
        let mut timed = explanation(&[]);
        timed.cost = Cost::Seconds(Pair { base: 40e-9, head: 52.5e-9 });
        let frames = parser().stacks[1].frames.clone();
        timed.stacks = vec![StackCost { frames, cost: Pair { base: 40e-9, head: 52.5e-9 } }];
        let drawn = picture(&timed, Side::Head).unwrap();
        assert!(drawn.contains("* parse (52,500 ps, 100.00%; +23.81%)"), "{drawn}");
        assert_eq!(folded(&[timed.clone()], Side::Base), "words;main;parse 40000\n");
        // Not in one picture with instructions.
        let both = file(&[timed, parser()]);
        assert!(both.contains("Time of an iteration") && !both.contains("eq ("), "{both}");
    }

    #[test]
    fn a_picture_in_a_page_has_nothing_but_frames() {
        let picture = picture(&parser(), Side::Head).unwrap();
        // Three levels, 16 pixels each.
        assert!(
            picture.starts_with("<svg width=\"1100\" height=\"48\" viewBox=\"0 36 1100 48\"><svg")
        );
        for foreign in ["<script", "<style", "id=", "Search"] {
            assert!(!picture.contains(foreign), "{foreign}: {picture}");
        }
        assert_eq!(picture.matches("<svg").count(), picture.matches("</svg>").count());
        assert_eq!(super::picture(&explanation(&[]), Side::Head), None);
    }

    #[test]
    fn a_file_says_why_it_shows_nothing() {
        assert!(file(&[]).contains("nothing has regressed, or its call stacks"));
        let drawn = file(&[parser()]);
        assert!(drawn.contains("words (") && drawn.contains("<script"), "{drawn}");
    }
}

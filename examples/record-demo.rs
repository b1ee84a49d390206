//! Records `cargo cbdr demo` in a terminal and prints it as an animated SVG; or, with the name of
//! a picture, takes one of the page of the same comparison.
//!
//! ```text
//! cargo build --release && cargo run --release --example record-demo > docs/demo.svg
//! cargo run --release --example record-demo docs/report.png
//! ```
//!
//! The recording shows what the program printed, and when; only pauses of more than a second and a
//! half are shortened. It needs `script` from util-linux, and the picture needs `chromium`.

#![allow(clippy::print_stdout, missing_docs)]

use std::error::Error;
use std::fmt::Write;
use std::num::NonZero;
use std::path::Path;
use std::process::{Command, Stdio};

use vt100::{Color, Parser};

const ROWS: u16 = 27;
const COLUMNS: u16 = 96;

/// Longer pauses end after so many seconds.
const LONGEST_PAUSE: f64 = 1.5;

/// What comes within so many seconds is one frame.
const FRAME: f64 = 0.2;

/// How long the last frame stays, seconds.
const LAST: f64 = 8.0;

const COMMAND: &str = "cargo cbdr demo";

/// The width and height of the picture of a report, pixels.
const PICTURE: (u32, u32) = (1100, 1510);

const CHARACTER: f64 = 8.4;
const LINE: f64 = 18.0;
const MARGIN: f64 = 14.0;

/// A piece of a line in one style.
#[derive(Clone, PartialEq)]
struct Run {
    column: u16,
    text: String,
    class: String,
}

/// What a line shows from one moment to another.
struct Span {
    row: u16,
    runs: Vec<Run>,
    from: f64,
    to: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    // Beside `examples`, where this program is.
    let here = std::env::current_exe()?;
    let program = here.parent().and_then(Path::parent).ok_or("not in a folder")?.join("cargo-cbdr");
    let folder = tempfile::tempdir()?;
    if let Some(picture) = std::env::args().nth(1) {
        return photograph(&program, folder.path(), Path::new(&picture));
    }
    let (output, timing) = (folder.path().join("output"), folder.path().join("timing"));
    let call = format!("stty cols {COLUMNS} rows {ROWS}; exec '{}' demo", program.display());
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command"]).arg(call);
    script.arg("--log-out").arg(&output).arg("--log-timing").arg(&timing);
    script.env("TERM", "xterm-256color").env_remove("NO_COLOR").env_remove("CBDR_PROGRESS");
    run(script.stdout(Stdio::null()), &[0])?;
    print!("{}", draw(&spans(&std::fs::read(output)?, &std::fs::read_to_string(timing)?)?));
    Ok(())
}

/// Takes a picture of the beginning of a report.
fn photograph(program: &Path, folder: &Path, picture: &Path) -> Result<(), Box<dyn Error>> {
    let repository = folder.join("wordcount");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo");
    let copy = |from: &str, to: &str| std::fs::copy(fixture.join(from), repository.join(to));
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=demo", "-c", "user.email=demo@example.com"];
        run(Command::new("git").current_dir(&repository).args(identity).args(args), &[0])
    };
    std::fs::create_dir_all(repository.join("src"))?;
    std::fs::create_dir_all(repository.join("benches"))?;
    for file in ["src/lib.rs", "benches/words.rs"] {
        copy(file, file)?;
    }
    copy("Cargo_fixture.toml", "Cargo.toml")?;
    copy("Cargo_fixture.lock", "Cargo.lock")?;
    git(&["init", "--quiet", "--initial-branch", "main"])?;
    git(&["add", "."])?;
    git(&["commit", "--quiet", "--message", "Count words"])?;
    git(&["checkout", "--quiet", "-b", "clean"])?;
    copy("slower/lib.rs", "src/lib.rs")?;
    git(&[
        "commit",
        "--quiet",
        "--all",
        "--message",
        "Count each word without its punctuation, too",
    ])?;
    let page = folder.join("page.html");
    let mut compare = Command::new(program);
    compare.args(["compare", "main", "--report"]).arg(&page).current_dir(&repository);
    run(compare.env("CBDR_CACHE_DIR", folder.join("cache")), &[100])?;
    let mut browser = Command::new("chromium");
    browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]);
    browser.arg(format!("--window-size={},{}", PICTURE.0, PICTURE.1));
    browser.arg(format!("--screenshot={}", std::path::absolute(picture)?.display()));
    run(browser.arg(format!("file://{}", page.display())), &[0])
}

/// Runs a command that ends with one of these exit codes.
fn run(command: &mut Command, codes: &[i32]) -> Result<(), Box<dyn Error>> {
    let status = command.stdin(Stdio::null()).status()?;
    match status.code().is_some_and(|code| codes.contains(&code)) {
        true => Ok(()),
        false => Err(format!("{command:?}: {status}").into()),
    }
}

/// Plays a log of `script` on a terminal.
fn spans(output: &[u8], timing: &str) -> Result<Vec<Span>, Box<dyn Error>> {
    // Above what was printed is a line of `script`'s own.
    let start = output.iter().position(|byte| *byte == b'\n').ok_or("an empty log")? + 1;
    let mut rest = &output[start..];
    let size = |number| NonZero::new(number).ok_or("no terminal");
    let mut terminal = Parser::new(size(ROWS)?, size(COLUMNS)?, 0);
    terminal.process(format!("\x1b[1m$ {COMMAND}\x1b[0m\r\n").as_bytes());
    let mut shown: Vec<(Vec<Run>, f64)> =
        (0..ROWS).map(|row| (line(&terminal, row), 0.0)).collect();
    let mut spans = Vec::new();
    let (mut now, mut next_frame) = (0.0, 0.0);
    for entry in timing.lines() {
        let (pause, bytes) = entry.split_once(' ').ok_or("no timing")?;
        now += pause.parse::<f64>()?.min(LONGEST_PAUSE);
        if now >= next_frame {
            note(&terminal, now, &mut shown, &mut spans);
            next_frame = now + FRAME;
        }
        let (printed, after) = rest.split_at(bytes.trim().parse()?);
        terminal.process(printed);
        rest = after;
    }
    note(&terminal, now, &mut shown, &mut spans);
    let last = shown.into_iter().enumerate();
    spans.extend(last.map(|(row, (runs, from))| {
        let to = now + LAST;
        Span { row: row as u16, runs, from, to }
    }));
    spans.retain(|span| !span.runs.is_empty() && span.to > span.from);
    Ok(spans)
}

/// Ends the spans of lines that have changed.
fn note(terminal: &Parser, now: f64, shown: &mut [(Vec<Run>, f64)], spans: &mut Vec<Span>) {
    for (row, (runs, from)) in shown.iter_mut().enumerate() {
        let new = line(terminal, row as u16);
        if new != *runs {
            let runs = std::mem::replace(runs, new);
            spans.push(Span { row: row as u16, runs, from: *from, to: now });
            *from = now;
        }
    }
}

/// What a line of the terminal shows.
fn line(terminal: &Parser, row: u16) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for column in 0..COLUMNS {
        let Some(cell) = terminal.screen().cell(row, column) else { continue };
        let contents = if cell.has_contents() { cell.contents() } else { " " };
        let color = match cell.fgcolor() {
            Color::Idx(1 | 9) => "r",
            Color::Idx(2 | 10) => "g",
            Color::Idx(3 | 11) => "y",
            Color::Idx(6 | 14) => "c",
            _ if cell.dim() => "d",
            _ => "f",
        };
        let class = if cell.bold() { format!("{color} b") } else { color.to_owned() };
        match runs.last_mut() {
            Some(run) if run.class == class => run.text += contents,
            _ => runs.push(Run { column, text: contents.to_owned(), class }),
        }
    }
    for run in &mut runs {
        run.text.truncate(run.text.trim_end().len());
    }
    runs.retain(|run| !run.text.trim().is_empty());
    runs
}

fn draw(spans: &[Span]) -> String {
    let width = f64::from(COLUMNS) * CHARACTER + 2.0 * MARGIN;
    let height = f64::from(ROWS) * LINE + 2.0 * MARGIN;
    let end = spans.iter().fold(0.0, |end: f64, span| end.max(span.to));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\">\n\
         <title>A recording of {COMMAND}</title>\n\
         <style>text {{ font: 14px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; \
         white-space: pre }} .f {{ fill: #d6d9de }} .d {{ fill: #6c737d }} .r {{ fill: #ff7b72 }} \
         .g {{ fill: #56d364 }} .y {{ fill: #e3b341 }} .c {{ fill: #56d4dd }} \
         .b {{ font-weight: bold }}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#16181d\">\
         <animate id=\"t\" attributeName=\"x\" values=\"0;0\" dur=\"{end:.2}s\" \
         begin=\"0s;t.end\"/></rect>\n"
    );
    for span in spans {
        // Without animation the last frame is shown.
        let is_last = span.to >= end;
        let (hidden, to, begin, length) = match is_last {
            true => ("", "hidden", 0.0, span.from),
            false => (" visibility=\"hidden\"", "visible", span.from, span.to - span.from),
        };
        let y = MARGIN + f64::from(span.row) * LINE + 13.0;
        let _ = write!(svg, "<g{hidden}>");
        if length > 0.0 {
            let _ = write!(
                svg,
                "<set attributeName=\"visibility\" to=\"{to}\" begin=\"t.begin+{begin:.2}s\" \
                 dur=\"{length:.2}s\"/>"
            );
        }
        for run in &span.runs {
            let x = MARGIN + f64::from(run.column) * CHARACTER;
            let length = run.text.chars().count() as f64 * CHARACTER;
            let text = run.text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            let _ = write!(
                svg,
                "<text class=\"{}\" x=\"{x:.1}\" y=\"{y:.0}\" textLength=\"{length:.1}\" \
                 xml:space=\"preserve\">{text}</text>",
                run.class
            );
        }
        svg += "</g>\n";
    }
    svg + "</svg>\n"
}

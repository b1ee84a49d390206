//! The methods, and the table that compares them.

use std::error::Error;
use std::ffi::{CString, OsString};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Instant;

use cargo_cbdr::exec::process::{Command, Helper, Interrupt};

/// The number of runs of each method in a round, and the number of rounds.
const RUNS: usize = 100;
const ROUNDS: usize = 40;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let helper = Helper::start();
    // Started like the helper, before anything is allocated.
    let bare = Bare::start();
    let (helper, mut bare) = (helper?, bare?);
    let folder = tempfile::tempdir()?;
    let program = nothing(folder.path())?;
    let ours = Ours::new(&helper, &program)?;
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|arg| arg == "--runs") {
        let runs = args.get(at + 1).ok_or("--runs needs a number")?.parse()?;
        ours.run(runs)?;
        return Ok(());
    }
    let mut with_peak = Ours::new(&helper, &program)?;
    with_peak.command.peak = true;
    bare.program(&program)?;
    let mut methods: Vec<Method<'_>> = vec![
        ("bare loop".to_owned(), Box::new(|| bare.run())),
        ("helper".to_owned(), Box::new(|| ours.run(RUNS))),
        ("with peak memory".to_owned(), Box::new(|| with_peak.run(RUNS))),
    ];
    match hyperfine_version() {
        Some(version) => {
            let json = folder.path().join("hyperfine.json");
            methods.push((version, Box::new(move || hyperfine(&program, &json))));
        }
        None => eprintln!("SKIPPED: hyperfine is not on the PATH, so it is not in the table"),
    }
    let rounds = rounds(&mut methods)?;
    let names: Vec<&str> = methods.iter().map(|(name, _)| name.as_str()).collect();
    print(&names, &rounds);
    Ok(())
}

/// The figures of a method for one round, seconds: the medians of the wall times that it reports
/// and of the whole times of its runs.
#[derive(Clone, Copy)]
struct Figures {
    wall: f64,
    whole: f64,
}

type Method<'a> = (String, Box<dyn FnMut() -> Result<Figures, Box<dyn Error>> + 'a>);

/// The figures of every method for each round, without the first round, which warms up.
fn rounds(methods: &mut [Method<'_>]) -> Result<Vec<Vec<Figures>>, Box<dyn Error>> {
    let mut rounds = Vec::new();
    for round in 0..=ROUNDS {
        let mut figures = vec![None; methods.len()];
        for step in 0..methods.len() {
            let turn = if round % 2 == 0 { step } else { methods.len() - 1 - step };
            figures[turn] = Some(methods[turn].1()?);
        }
        rounds.push(figures.into_iter().flatten().collect());
    }
    rounds.remove(0);
    Ok(rounds)
}

fn print(names: &[&str], rounds: &[Vec<Figures>]) {
    println!("A program that does nothing, {ROUNDS} rounds of {RUNS} runs; medians [quartiles]");
    println!("{:18}{:>12}  {:26}{:>12}  to bare", "", "reported", "to bare", "whole");
    for (method, name) in names.iter().enumerate() {
        let column = |of: fn(&Figures) -> f64| {
            let own: Vec<f64> = rounds.iter().map(|round| of(&round[method]) * 1e6).collect();
            let ratio = rounds.iter().map(|round| of(&round[method]) / of(&round[0]));
            let [low, middle, high] = quartiles(ratio.collect());
            let ratio = format!("{middle:.3} [{low:.3}, {high:.3}]");
            (format!("{:.1} µs", quartiles(own)[1]), ratio)
        };
        let ((wall, wall_ratio), (whole, whole_ratio)) =
            (column(|figures| figures.wall), column(|figures| figures.whole));
        println!("{name:18}{wall:>12}  {wall_ratio:26}{whole:>12}  {whole_ratio}");
    }
}

fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[(values.len() - 1) * quarter / 4])
}

/// The method of `cargo cbdr`.
struct Ours<'a> {
    helper: &'a Helper,
    command: Command,
    never: Interrupt,
}

impl<'a> Ours<'a> {
    fn new(helper: &'a Helper, program: &Path) -> Result<Self, Box<dyn Error>> {
        let command = Command {
            argv: vec![program.into()],
            env: std::env::vars_os().collect(),
            cwd: "/".into(),
            timeout: Some(std::time::Duration::from_secs(600)),
            sweep: true,
            counters: Vec::new(),
            ..Command::default()
        };
        Ok(Ours { helper, command, never: Interrupt::never()? })
    }

    fn run(&self, runs: usize) -> Result<Figures, Box<dyn Error>> {
        let (mut walls, mut wholes) = (Vec::with_capacity(runs), Vec::with_capacity(runs));
        for _ in 0..runs {
            let start = Instant::now();
            let outcome = self.helper.run(&self.command, &self.never)?;
            if !outcome.exit.success() {
                return Err(format!("the program {}", outcome.exit).into());
            }
            walls.push(outcome.wall);
            wholes.push(start.elapsed().as_secs_f64());
        }
        Ok(Figures { wall: quartiles(walls)[1], whole: quartiles(wholes)[1] })
    }
}

/// The asking side of the bare loop's process.
struct Bare {
    socket: UnixStream,
}

impl Bare {
    fn start() -> std::io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        // SAFETY: this process has one thread, so that the child may do
        // anything.
        match unsafe { libc::fork() } {
            -1 => Err(std::io::Error::last_os_error()),
            0 => {
                drop(ours);
                let status = i32::from(serve(theirs).is_err());
                // SAFETY: _exit runs nothing of the parent's.
                unsafe { libc::_exit(status) }
            }
            _ => Ok(Bare { socket: ours }),
        }
    }

    /// Sends what to run: the path and the environment, each ended by a zero.
    fn program(&mut self, program: &Path) -> std::io::Result<()> {
        let mut words = vec![program.as_os_str().to_owned()];
        words.extend(std::env::vars_os().map(|(name, value)| {
            let mut word: OsString = name;
            word.push("=");
            word.push(value);
            word
        }));
        let mut bytes = Vec::new();
        for word in words {
            bytes.extend_from_slice(word.as_bytes());
            bytes.push(0);
        }
        self.socket.write_all(&(bytes.len() as u64).to_ne_bytes())?;
        self.socket.write_all(&bytes)
    }

    /// Makes the runs of a round. It does nothing besides what it measures.
    fn run(&mut self) -> Result<Figures, Box<dyn Error>> {
        self.socket.write_all(&[0])?;
        let mut number = [0; 8];
        let mut read = || -> std::io::Result<f64> {
            self.socket.read_exact(&mut number)?;
            Ok(f64::from_ne_bytes(number))
        };
        let walls = (0..RUNS).map(|_| read()).collect::<Result<_, _>>()?;
        let [_, wall, _] = quartiles(walls);
        Ok(Figures { wall, whole: wall })
    }
}

/// The bare loop's process: a round for every byte that comes in.
fn serve(mut socket: UnixStream) -> Result<(), Box<dyn Error>> {
    let mut length = [0; 8];
    socket.read_exact(&mut length)?;
    let mut bytes = vec![0; u64::from_ne_bytes(length) as usize];
    socket.read_exact(&mut bytes)?;
    let words: Vec<CString> =
        bytes.split(|&byte| byte == 0).map(CString::new).collect::<Result<_, _>>()?;
    let pointer = |word: &CString| word.as_ptr().cast_mut();
    let argv = [pointer(&words[0]), std::ptr::null_mut()];
    // The last word is what is behind the last zero: nothing.
    let mut env: Vec<_> = words[1..words.len() - 1].iter().map(pointer).collect();
    env.push(std::ptr::null_mut());
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    for standard in 0..2 {
        // SAFETY: dup2 has no memory preconditions.
        unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&null), standard) };
    }
    std::env::set_current_dir("/")?;
    let mut walls = [0.0; RUNS];
    while socket.read_exact(&mut [0]).is_ok() {
        for wall in &mut walls {
            let start = Instant::now();
            let mut pid = 0;
            let mut status = 0;
            // SAFETY: the strings end with zeros, the lists of pointers to
            // them with nulls, and all outlive the calls; zeroed is a valid
            // rusage.
            unsafe {
                let (actions, attributes) = (std::ptr::null(), std::ptr::null());
                let (args, env) = (argv.as_ptr(), env.as_ptr());
                let program = argv[0];
                let failed =
                    libc::posix_spawn(&raw mut pid, program, actions, attributes, args, env);
                let mut usage: libc::rusage = std::mem::zeroed();
                if failed != 0 || libc::wait4(pid, &raw mut status, 0, &raw mut usage) != pid {
                    return Err("the program could not be run".into());
                }
            }
            *wall = start.elapsed().as_secs_f64();
        }
        for number in &walls {
            socket.write_all(&number.to_ne_bytes())?;
        }
    }
    Ok(())
}

fn hyperfine_version() -> Option<String> {
    let output = std::process::Command::new("hyperfine").arg("--version").output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A round of hyperfine, whose start is spread over the runs.
fn hyperfine(program: &Path, json: &Path) -> Result<Figures, Box<dyn Error>> {
    let start = Instant::now();
    let output = std::process::Command::new("hyperfine")
        .args(["-N", "--style", "none", "--runs", &RUNS.to_string(), "--export-json"])
        .args([json, program])
        .output()?;
    let whole = start.elapsed().as_secs_f64() / RUNS as f64;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let found: serde_json::Value = serde_json::from_slice(&std::fs::read(json)?)?;
    let median = found["results"][0]["median"].as_f64().ok_or("hyperfine gave no median")?;
    Ok(Figures { wall: median, whole })
}

/// Writes the smallest program there is: an ELF file with nothing but a call of
/// `exit(0)`. On other systems it is `/bin/true`, which is slower.
fn nothing(folder: &Path) -> Result<PathBuf, Box<dyn Error>> {
    // mov edi, 0; mov eax, 60; syscall
    const X86_64: (u16, &[u8]) = (62, b"\xbf\0\0\0\0\xb8\x3c\0\0\0\x0f\x05");
    // mov x0, #0; mov x8, #93; svc #0
    const AARCH64: (u16, &[u8]) = (183, b"\0\0\x80\xd2\xa8\x0b\x80\xd2\x01\0\0\xd4");
    let (machine, code) = match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => X86_64,
        ("linux", "aarch64") => AARCH64,
        _ => return Ok("/bin/true".into()),
    };
    const BASE: u64 = 0x40_0000;
    const HEADERS: u64 = 64 + 56;
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let half = |file: &mut Vec<u8>, value: u16| file.extend(value.to_le_bytes());
    let word = |file: &mut Vec<u8>, value: u32| file.extend(value.to_le_bytes());
    let long = |file: &mut Vec<u8>, value: u64| file.extend(value.to_le_bytes());
    half(&mut file, 2); // executable
    half(&mut file, machine);
    word(&mut file, 1); // version
    long(&mut file, BASE + HEADERS); // entry
    long(&mut file, 64); // program headers begin
    long(&mut file, 0); // no sections
    word(&mut file, 0); // flags
    // Sizes and counts of headers.
    for value in [64, 56, 1, 64, 0, 0] {
        half(&mut file, value);
    }
    word(&mut file, 1); // to be loaded
    word(&mut file, 5); // readable and executable
    let size = HEADERS + code.len() as u64;
    for value in [0, BASE, BASE, size, size, 0x1000] {
        long(&mut file, value);
    }
    file.extend_from_slice(code);
    let path = folder.join("nothing");
    std::fs::write(&path, file)?;
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755))?;
    Ok(path)
}

//! perf's file: the copied stacks are unwound, and the functions in them named.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs::File;
use std::io::BufReader;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::rc::Rc;

use framehop::{
    CacheNative, ExplicitModuleSectionInfo, FrameAddress, MayAllocateDuringUnwind, Module,
    UnwindRegsNative, Unwinder, UnwinderNative,
};
use linux_perf_data::linux_perf_event_reader::{EventRecord, Mmap2Record, SampleRecord};
use linux_perf_data::{PerfFileReader, PerfFileRecord};
use object::{Object, ObjectSection, ObjectSegment, SegmentFlags, elf};

use super::super::size::by_address;
use super::samples::PerfSamples;
use crate::exec::meter::call_stack::CallStack;

/// What is known of no function.
const UNKNOWN: &str = "[unknown]";

/// perf's numbers of the registers that unwinding begins with: the program counter, then those
/// of `UnwindRegsNative::new`.
const REGISTERS: [u64; 4] =
    if cfg!(target_arch = "x86_64") { [8, 8, 7, 6] } else { [32, 30, 31, 29] };

/// The bits of addresses. aarch64 signs where to return to in the others.
const ADDRESS: u64 = u64::MAX >> 16;

type Cache = CacheNative<MayAllocateDuringUnwind>;

/// An executable or a library.
struct Image {
    /// The sections that tell how to unwind.
    sections: ExplicitModuleSectionInfo<Rc<[u8]>>,
    /// Where code ends in the file, and how far from that its addresses are.
    segments: Vec<(u64, u64)>,
    functions: BTreeMap<u64, (String, u64)>,
}

/// What a process can execute.
#[derive(Clone, Default)]
struct Process {
    unwinder: UnwinderNative<Rc<[u8]>, MayAllocateDuringUnwind>,
    /// The images by their addresses: where they end, and how far they were moved.
    images: BTreeMap<u64, (u64, u64, Rc<Image>)>,
}

/// The samples in a file; `None` if it can't be read.
pub(super) fn read(path: &Path) -> Option<PerfSamples> {
    let mut file = PerfFileReader::parse_file(BufReader::new(File::open(path).ok()?)).ok()?;
    let (mut images, mut processes) = (HashMap::new(), HashMap::<i32, Process>::new());
    let (mut cache, mut samples) = (Cache::new(), PerfSamples::default());
    while let Some(record) = file.record_iter.next_record(&mut file.perf_file).ok()? {
        let PerfFileRecord::EventRecord { record, .. } = record else { continue };
        match record.parse().ok()? {
            EventRecord::Comm(comm) if comm.is_execve => drop(processes.remove(&comm.pid)),
            EventRecord::Fork(fork) if fork.pid != fork.ppid => {
                let own = processes.get(&fork.ppid).cloned().unwrap_or_default();
                processes.insert(fork.pid, own);
            }
            EventRecord::Mmap2(mapping) => {
                let path = mapping.path.as_slice().into_owned();
                let image = images.entry(path).or_insert_with_key(|path| Image::read(path));
                if let Some(image) = image {
                    processes.entry(mapping.pid).or_default().map(&mapping, image);
                }
            }
            EventRecord::Sample(sample) => {
                let process = processes.entry(sample.pid?).or_default();
                if let Some(names) = process.stack(&sample, &mut cache) {
                    samples.add_stack(names, sample.period?);
                }
            }
            _ => {}
        }
    }
    Some(samples)
}

impl Image {
    fn read(path: &[u8]) -> Option<Rc<Self>> {
        let path = Path::new(OsStr::from_bytes(path));
        // A device may have no end.
        let content = if path.is_file() { std::fs::read(path).ok()? } else { own(path.to_str()?)? };
        let file = object::File::parse(&*content).ok()?;
        let section = |name| file.section_by_name(name);
        let bytes = |name| Some(section(name)?.uncompressed_data().ok()?.into());
        let range = |name| section(name).map(|one| one.address()..one.address() + one.size());
        let sections = ExplicitModuleSectionInfo {
            eh_frame_svma: range(".eh_frame"),
            eh_frame: bytes(".eh_frame"),
            eh_frame_hdr_svma: range(".eh_frame_hdr"),
            eh_frame_hdr: bytes(".eh_frame_hdr"),
            ..Default::default()
        };
        let segments = file.segments().filter_map(|one| {
            let SegmentFlags::Elf { p_flags, .. } = one.flags() else { return None };
            let (start, size) = one.file_range();
            let segment = (start + size, one.address().wrapping_sub(start));
            p_flags.contains(elf::PF_X).then_some(segment)
        });
        let separate = separate(&file).unwrap_or_default();
        let separate = object::File::parse(&*separate);
        let symbols = separate.as_ref().unwrap_or(&file);
        let functions = by_address(symbols.symbols().chain(symbols.dynamic_symbols()));
        Some(Rc::new(Image { segments: segments.collect(), sections, functions }))
    }
}

/// What the kernel maps into each process: the same under this name in this one.
fn own(name: &str) -> Option<Vec<u8>> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let (range, _) = maps.lines().find(|line| line.ends_with(name))?.split_once(' ')?;
    let mut bounds = range.split('-').map_while(|bound| u64::from_str_radix(bound, 16).ok());
    let (start, end) = (bounds.next()?, bounds.next()?);
    let mut content = vec![0; (end - start) as usize];
    File::open("/proc/self/mem").ok()?.read_exact_at(&mut content, start).ok()?;
    Some(content)
}

/// The symbols that were split from a file when it was packaged, if they are installed.
fn separate(file: &object::File<'_>) -> Option<Vec<u8>> {
    let id: String = file.build_id().ok()??.iter().map(|byte| format!("{byte:02x}")).collect();
    let (folder, name) = id.split_at_checked(2)?;
    std::fs::read(format!("/usr/lib/debug/.build-id/{folder}/{name}.debug")).ok()
}

impl Process {
    fn map(&mut self, mapping: &Mmap2Record<'_>, image: &Rc<Image>) {
        let Mmap2Record { address: start, length, page_offset, .. } = *mapping;
        let segment = image.segments.iter().find(|(end, _)| page_offset < *end);
        let Some((_, distance)) = segment else { return };
        let moved = start.wrapping_sub(page_offset).wrapping_sub(*distance);
        let (range, sections) = (start..start + length, image.sections.clone());
        self.images.insert(start, (range.end, moved, Rc::clone(image)));
        self.unwinder.remove_module(start);
        self.unwinder.add_module(Module::new(String::new(), range, moved, sections));
    }

    /// The names of the function of a sample, its caller, and so on.
    fn stack(&self, sample: &SampleRecord<'_>, cache: &mut Cache) -> Option<Vec<&str>> {
        let registers = sample.user_regs.as_ref()?;
        let register = |number: usize| Some(registers.get(REGISTERS[number])? & ADDRESS);
        let (copied, length) = sample.user_stack.as_ref()?;
        let (copied, top) = (copied.as_slice(), register(2)?);
        let mut read = |address: u64| {
            let rest = copied.get(address.wrapping_sub(top) as usize..*length as usize);
            let word = rest.and_then(|rest| rest.first_chunk()).ok_or(())?;
            Ok(u64::from_le_bytes(*word) & ADDRESS)
        };
        let registers = UnwindRegsNative::new(register(1)?, top, register(3)?);
        let mut frames = self.unwinder.iter_frames(register(0)?, registers, cache, &mut read);
        let frames = std::iter::from_fn(|| frames.next().ok()?);
        let name = |frame: FrameAddress| self.name(frame.address_for_lookup()).unwrap_or(UNKNOWN);
        Some(frames.map(name).collect())
    }

    fn name(&self, address: u64) -> Option<&str> {
        let (_, (end, moved, image)) = self.images.range(..=address).next_back()?;
        let own = address.wrapping_sub(*moved);
        let (start, (name, size)) = image.functions.range(..=own).next_back()?;
        // Libraries append versions.
        (address < *end && own - start < *size).then(|| name.split('@').next())?
    }
}

impl PerfSamples {
    /// Adds a sample of a function, its caller, and so on.
    fn add_stack(&mut self, mut names: Vec<&str>, weight: u64) {
        // Where the copied part of the stack ends.
        names.truncate(names.iter().rposition(|name| *name != UNKNOWN).unwrap_or(0) + 1);
        let stack = CallStack(names.join(&CallStack::SEPARATOR.to_string()));
        self.count += 1;
        *self.stacks.entry(stack).or_default() += weight;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The registers in a sample.
    const MASK: u64 = 1 << REGISTERS[0] | 1 << REGISTERS[1] | 1 << REGISTERS[2] | 1 << REGISTERS[3];
    /// Its address, process, weight, registers and stack are in a sample.
    const PARTS: u64 = 0x1 | 0x2 | 0x100 | 0x1000 | 0x2000;
    /// Where the stack is.
    const TOP: u64 = 0x7000;

    #[test]
    fn a_stack_ends_where_nothing_is_known_of_the_rest() {
        let mut samples = PerfSamples::default();
        samples.add_stack(vec!["malloc", UNKNOWN, "main", "start"], 1);
        samples.add_stack(vec!["main", UNKNOWN, UNKNOWN], 2);
        let mut others = PerfSamples::default();
        others.add_stack(vec!["main"], 3);
        others.add_stack(vec![UNKNOWN, UNKNOWN], 2);
        samples.add(others);
        assert_eq!((samples.count, samples.stacks.len()), (4, 3));
        let shares: Vec<(Vec<&str>, f64)> =
            samples.shares().map(|(stack, share)| (stack.names().collect(), share)).collect();
        let expected = [
            (vec![UNKNOWN], 0.25),
            (vec!["main"], 0.625),
            (vec!["malloc", UNKNOWN, "main", "start"], 0.125),
        ];
        assert_eq!(shares, expected);
    }

    #[inline(never)]
    fn deepest() -> u8 {
        1
    }

    #[inline(never)]
    fn middle() -> u8 {
        2
    }

    #[inline(never)]
    fn outermost() -> u8 {
        3
    }

    fn addresses() -> [u64; 3] {
        [deepest, middle, outermost].map(|one: fn() -> u8| one as usize as u64)
    }

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Two numbers of 32 bits.
    fn both(low: u64, high: u64) -> u64 {
        low | high << 32
    }

    fn record(kind: u64, misc: u64, mut body: Vec<u8>) -> Vec<u8> {
        body.resize(body.len().next_multiple_of(8), 0);
        let size = body.len() as u64 + 8;
        [bytes(&[kind | misc << 32 | size << 48]), body].concat()
    }

    /// The code of these tests is mapped into a process.
    fn mapped(pid: u64) -> Vec<u8> {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
        let range = |line: &str| {
            let (start, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
            number(start)..number(end)
        };
        let own = maps.lines().find(|line| range(line).contains(&addresses()[0])).unwrap();
        let words: Vec<&str> = own.split_whitespace().collect();
        let (range, offset) = (range(own), number(words[2]));
        let numbers = [both(pid, pid), range.start, range.end - range.start, offset, 0, 0, 0, 0];
        record(10, 0, [bytes(&numbers), words[5].into()].concat())
    }

    /// A process is about to execute the first instruction of a function: only the address to
    /// which it returns is on the stack, and that of its caller, which was there, too.
    fn sample(pid: u64, at: u64, callers: &[u64], weight: u64) -> Vec<u8> {
        let (callers, sorted) = (bytes(callers), BTreeMap::from(REGISTERS.map(|one| (one, 0))));
        let link = callers.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let values = BTreeMap::from([
            (REGISTERS[1], link),
            (REGISTERS[0], at),
            (REGISTERS[2], TOP),
            (REGISTERS[3], 0),
        ]);
        let registers: Vec<u64> = sorted.keys().map(|one| values[one]).collect();
        let length = callers.len() as u64;
        let before = [bytes(&[at, both(pid, pid), weight, 2]), bytes(&registers)].concat();
        record(9, 2, [before, bytes(&[length]), callers, bytes(&[length])].concat())
    }

    /// What is read of a file with these records.
    fn read_of(records: &[Vec<u8>]) -> Option<PerfSamples> {
        let records = records.concat();
        // The header, then what is counted.
        let counted = [both(1, 112), 0, 0, PARTS, 0, 0, 0, 0, 0, 0, MASK, 0, 0, 0];
        let sections = [104, 128, 104, 128, 232, records.len() as u64, 0, 0, 0, 0, 0, 0];
        let header = [b"PERFILE2".to_vec(), bytes(&sections), bytes(&counted), bytes(&[0, 0])];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("perf.data");
        std::fs::write(&path, [header.concat(), records].concat()).unwrap();
        read(&path)
    }

    /// The names of each stack, without crates and modules, and its weight.
    fn stacks(samples: &PerfSamples) -> Vec<(Vec<&str>, u64)> {
        let short = |name: &str| {
            let mut known = ["deepest", "middle", "outermost"].into_iter();
            known.find(|known| name.contains(known)).unwrap_or("?")
        };
        let stack =
            |(stack, weight): (&CallStack, &u64)| (stack.names().map(short).collect(), *weight);
        samples.stacks.iter().map(stack).collect()
    }

    #[test]
    fn stacks_are_unwound_and_named() {
        let [deepest, middle, outermost] = addresses();
        let callers = [middle + 1, outermost + 1, 0];
        // Signed ones, too.
        let signed = callers.map(|address| address | 0xabcd << 48);
        let samples = [&callers, &signed].map(|callers| sample(7, deepest, callers, 5)).concat();
        let samples = read_of(&[mapped(7), samples]).unwrap();
        // Elsewhere the caller of a function that calls nothing is in a register.
        let length = if cfg!(target_arch = "x86_64") { 3 } else { 2 };
        let expected = &["deepest", "middle", "outermost"][..length];
        assert_eq!(stacks(&samples), [(expected.to_vec(), 10)]);
        assert_eq!(samples.count, 2);
    }

    #[test]
    fn a_process_has_the_code_of_its_parent_until_it_executes_something_else() {
        let [deepest, ..] = addresses();
        let fork = record(7, 0, bytes(&[both(8, 7), both(8, 7), 0]));
        let exec = record(3, 1 << 13, bytes(&[both(8, 8), 0]));
        let before = [mapped(7), fork, sample(8, deepest, &[0], 1)].concat();
        assert_eq!(
            stacks(&read_of(std::slice::from_ref(&before)).unwrap()),
            [(vec!["deepest"], 1)]
        );
        let after = read_of(&[before, exec, sample(8, deepest, &[0], 2)]).unwrap();
        assert_eq!(stacks(&after), [(vec!["?"], 2), (vec!["deepest"], 1)]);
        assert_eq!(after.stacks.keys().next().unwrap().0, UNKNOWN);
    }

    #[test]
    fn what_is_mapped_over_code_replaces_it() {
        let [deepest, ..] = addresses();
        let numbers = [both(7, 7), deepest & !0xfff, 0x1000, 0, 0, 0, 0, 0];
        let other = record(10, 0, [bytes(&numbers), "[vdso]".into()].concat());
        let samples = read_of(&[mapped(7), other, sample(7, deepest, &[0], 1)]).unwrap();
        assert_eq!(stacks(&samples), [(vec!["?"], 1)]);
    }

    #[test]
    fn functions_of_the_kernels_code_have_names() {
        let image = Image::read(b"[vdso]").unwrap();
        let mut names = image.functions.values().map(|(name, _)| name);
        assert!(names.any(|name| name.contains("clock_gettime")));
    }

    #[test]
    fn what_is_no_file_of_perf_is_not_read() {
        let whole = sample(7, 1, &[0], 1);
        assert!(read_of(&[]).unwrap().stacks.is_empty());
        assert!(read_of(&[vec![0; 24]]).is_none());
        assert!(read(Path::new("/nonexistent")).is_none());
        assert!(read_of(&[whole[..40].to_vec()]).is_none());
    }
}

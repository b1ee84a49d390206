//! What the benchmark libraries leave in an executable: the words of their
//! command lines. They survive stripping, and nobody has to run it.

use memchr::memmem;

use crate::model::dialect::Dialect;

/// Each dialect with words that its executables hold, all of them. The bar in
/// each is none of it: an executable that holds this file is not to hold them.
const MARKS: [(Dialect, &[&str]); 3] = [
    (Dialect::Criterion, &["CRITERION|_HOME", "warm-up|-time", "save-|baseline"]),
    (Dialect::Divan, &["DIVAN_SAMPLE|_COUNT", "DIVAN_SKIP|_EXT_TIME"]),
    (Dialect::Libtest, &["Exactly match filters |rather than by substring"]),
];

/// Whether an executable holds a word.
pub(super) fn has(executable: &[u8], word: &str) -> bool {
    memmem::find(executable, word.as_bytes()).is_some()
}

/// The dialect of an executable, plain where none is recognised.
pub(super) fn dialect(executable: &[u8]) -> Dialect {
    let speaks = |marks: &[&str]| marks.iter().all(|mark| has(executable, &mark.replace('|', "")));
    let found = MARKS.iter().find(|(_, marks)| speaks(marks));
    found.map_or(Dialect::Plain, |&(dialect, _)| dialect)
}

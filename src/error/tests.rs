//! Shortages and hints.

use super::*;

#[test]
fn a_shortage_is_known_by_its_error_and_by_the_systems_words_for_it() {
    let hint = |kind: io::ErrorKind| shortage_hint(&kind.into());
    assert_eq!(SHORTAGES.iter().filter(|(_, hint)| *hint == NO_MEMORY).count(), 1);
    for (words, hint) in SHORTAGES.iter() {
        let text = format!("ld: final link failed: {words}\n");
        assert_eq!(shortage_in_text(&text), Some(*hint), "{words}");
    }
    assert_eq!(shortage_in_text("memory allocation of 8 bytes failed"), Some(NO_MEMORY));
    assert_eq!(hint(io::ErrorKind::OutOfMemory), Some(NO_MEMORY));
    assert_eq!(hint(io::ErrorKind::NotFound), None);
    assert_eq!(shortage_in_text("No such file or directory"), None);
    let files = shortage_in_text("sh: Too many open files");
    assert_eq!(files, Some("allow more open files: `ulimit -n 1024`"));
}

#[test]
fn the_hint_is_that_of_the_cause() {
    let source = io::Error::from(io::ErrorKind::QuotaExceeded);
    let error = Error::io("write", Path::new("/x"))(source);
    assert!(error.hint().unwrap().starts_with("make room; "));
    let hint = Error::io("read", Path::new("/x"))(io::ErrorKind::NotFound.into()).hint();
    assert_eq!(hint.unwrap(), "check the path and its permissions");
}

/// Checks that each error of a room ends with advice, worded as the end of a message.
pub(crate) fn each_leads_somewhere(errors: Vec<Error>) {
    for error in errors {
        let hint = error.hint().unwrap_or_else(|| panic!("`{error:?}` leads nowhere"));
        assert!(!hint.starts_with(char::is_uppercase) && !hint.ends_with(['.', ' ']), "{hint}");
    }
}

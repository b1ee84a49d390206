//! Functions with their callers.

/// With which glibc finds the stack of the main thread, before `main`: it parses a list of all that
/// the process has in memory, which differs between two executables of the same code.
const STACK_SEARCH: &str = "pthread_getattr_np";

/// A function and its callers, as linkers name them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CallStack(pub(super) String);

impl CallStack {
    /// What separates two names, as in callgrind's files.
    pub(super) const SEPARATOR: char = '\'';

    /// The function, its caller, and so on.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        // Callgrind puts a number after the name of a function that calls itself.
        self.0.split(CallStack::SEPARATOR).filter(|name| name.parse::<u32>().is_err())
    }

    /// Whether what it executes depends on where the program is in memory, not on its code.
    pub(crate) fn searches_stack(&self) -> bool {
        // A version may follow the name.
        self.names().any(|name| name.split('@').next() == Some(STACK_SEARCH))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_the_stack_of_the_main_thread_says_nothing_about_the_code() {
        let searches = |names: &str| CallStack(names.to_owned()).searches_stack();
        assert!(searches("__vfscanf_internal'sscanf'pthread_getattr_np@@GLIBC_2.32'main"));
        assert!(searches("pthread_getattr_np'main"));
        assert!(!searches("__vfscanf_internal'parse'main"));
    }
}

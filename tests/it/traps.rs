//! The traps of a comparison that measures the wrong thing.

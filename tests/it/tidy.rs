//! The house guards itself.

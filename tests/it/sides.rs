//! Which two commits are compared.

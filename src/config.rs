//! rules.yaml, read and checked.

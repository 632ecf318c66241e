//! The request parser: flat arrays of bulk strings and inline commands, resumable at every byte.

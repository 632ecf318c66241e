//! Files there and back.

//! The errors in a script's reply, as INFO counts them.

use crate::host::Host;
use std::collections::BTreeMap;

/// The bytes that are kept of an error's text. Its code, which identifies the error, is shorter.
const KEPT: usize = 32;
/// The most different errors that are counted separately.
const KINDS: usize = 1024;

/// The counted errors. There are nearly always none, which is a null pointer.
#[derive(Default)]
pub(crate) struct Errors(Option<Box<Counts>>);

#[derive(Default)]
struct Counts {
    /// Errors that no command has returned before, by the beginning of their texts.
    new: BTreeMap<Box<[u8]>, u64>,
    /// The number of errors that a command has returned, which have been counted already.
    again: u64,
}

impl Errors {
    pub(crate) fn one(text: &[u8], is_new: bool) -> Errors {
        let mut errors = Errors::default();
        errors.add(text, is_new);
        errors
    }

    #[cold]
    pub(crate) fn add(&mut self, text: &[u8], is_new: bool) {
        let counts = self.0.get_or_insert_default();
        if is_new { counts.add(text) } else { counts.again += 1 }
    }

    /// Reports the errors to the host.
    #[inline]
    pub(crate) fn tell(self, host: &mut dyn Host) {
        if let Some(counts) = self.0 {
            counts.tell(host);
        }
    }
}

impl Counts {
    fn add(&mut self, text: &[u8]) {
        let space = text.iter().take(KEPT).position(|byte| *byte == b' ');
        let text = &text[..space.map_or(text.len().min(KEPT), |space| space + 1)];
        if let Some(times) = self.new.get_mut(text) {
            *times += 1;
        } else if self.new.len() < KINDS {
            self.new.insert(text.into(), 1);
        } else if let Some(mut last) = self.new.last_entry() {
            *last.get_mut() += 1;
        }
    }

    #[cold]
    fn tell(&self, host: &mut dyn Host) {
        for (text, times) in &self.new {
            host.answered_error(text, true, *times);
        }
        if self.again > 0 {
            host.answered_error(b"", false, self.again);
        }
    }
}

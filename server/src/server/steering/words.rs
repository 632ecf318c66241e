//! The words of a command.

use std::time::Duration;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Words(Vec<Vec<u8>>);

impl Words {
    pub(super) fn of(words: &[&str]) -> Self {
        Words(words.iter().map(|word| word.as_bytes().to_vec()).collect())
    }

    pub(super) fn and(mut self, word: impl AsRef<[u8]>) -> Self {
        self.0.push(word.as_ref().to_vec());
        self
    }

    pub(super) fn number(self, number: impl ToString) -> Self {
        self.and(number.to_string())
    }

    /// Appends a duration, in whole milliseconds.
    pub(super) fn milliseconds(self, duration: Duration) -> Self {
        self.number(duration.as_millis())
    }

    pub(super) fn then(mut self, words: &Words) -> Self {
        self.0.extend_from_slice(&words.0);
        self
    }

    pub(super) fn and_if(self, condition: bool, word: &str) -> Self {
        if condition { self.and(word) } else { self }
    }

    pub(super) fn all(&self) -> Vec<&[u8]> {
        self.0.iter().map(Vec::as_slice).collect()
    }

    /// Returns the command as a user would type it.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.join(&b' ')).into_owned()
    }
}

//! What a server knows of a test that has failed; and the ways from a handle to what it steers.

use super::faults::Faults;
use super::reply::{Refused, Reply};
use super::until::Until;
use super::words::Words;
use crate::server::handle::Handle;

impl Handle {
    /// Runs any command, as a client of its own that faults spare. What may wait for ever blocks this thread as long.
    ///
    /// ```
    /// # let server = lockwheel::Server::builder().port(0).start()?;
    /// use lockwheel::Reply;
    ///
    /// server.handle().command(&["SET", "k", "v"])?;
    /// assert_eq!(server.handle().command(&["STRLEN", "k"])?, Reply::Integer(1));
    /// assert!(server.handle().command(&["GET"]).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the server refuses it.
    pub fn command(&self, words: &[&str]) -> Result<Reply, Refused> {
        self.ask(&Words::of(words))
    }

    pub(super) fn ask(&self, words: &Words) -> Result<Reply, Refused> {
        let ended = || Refused("the server has ended".to_owned());
        Reply::parse(&self.shared.ask(&words.all()).ok_or_else(ended)?)
    }

    /// Waits for states instead of sleeping.
    ///
    /// ```
    /// # let server = lockwheel::Server::builder().port(0).start()?;
    /// server.handle().command(&["SET", "k", "v"])?;
    /// server.handle().until().exists("k")?;
    /// server.handle().until().exact().blocked(0, None)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn until(&self) -> Until {
        Until { handle: self.clone(), limit: None, comparison: Words::default() }
    }

    /// Makes faults.
    pub fn faults(&self) -> Faults {
        Faults(self.clone())
    }

    /// What the server knows, for a test that has failed: its clock, and the faults that have acted.
    pub fn report(&self) -> String {
        let mut report = String::new();
        for (title, lines) in [("clock", self.clock_lines()), ("faults that acted", self.fault_lines())] {
            report += &format!("{title}:\n");
            for line in lines.unwrap_or_else(|refused| vec![refused.to_string()]) {
                report += &format!("    {line}\n");
            }
        }
        report
    }

    fn clock_lines(&self) -> Result<Vec<String>, Refused> {
        Ok(vec![fields(&self.command(&["CLOCK.INFO"])?)])
    }

    fn fault_lines(&self) -> Result<Vec<String>, Refused> {
        let rules = self.faults().list()?.into_iter().filter(|rule| rule.hits > 0);
        let line = |rule: super::Rule| {
            format!("{} ({}): hits={} held={}", rule.name, rule.rule, rule.hits, rule.held)
        };
        Ok(rules.map(line).collect())
    }
}

/// What a map has, but for what is empty.
fn fields(reply: &Reply) -> String {
    let Reply::Map(pairs) = reply else { return String::new() };
    let words = pairs.iter().filter_map(|(name, value)| {
        let (name, value) = (name.text(), shown(value));
        (!value.is_empty()).then(|| format!("{name}={value}"))
    });
    words.collect::<Vec<_>>().join(" ")
}

fn shown(reply: &Reply) -> String {
    reply.maybe_integer().map_or_else(|| reply.text(), |number| number.to_string())
}

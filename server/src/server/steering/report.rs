//! The report of a server after a failed test, and the access from a handle to test control.

use super::clock::Clock;
use super::faults::Faults;
use super::history::{Filter, History};
use super::reply::{Refused, Reply};
use super::until::Until;
use super::verify::Level;
use super::words::Words;
use crate::server::handle::Handle;

/// The number of the latest entries of the history that a report shows.
const ENTRIES_SHOWN: i64 = 100;

impl Handle {
    /// Runs any command, as a separate client exempt from faults. One that blocks forever blocks this thread, too.
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
    /// Returns a [`Refused`] if the server refuses the command.
    pub fn command(&self, words: &[&str]) -> Result<Reply, Refused> {
        self.ask(&Words::of(words))
    }

    pub(super) fn ask(&self, words: &Words) -> Result<Reply, Refused> {
        let ended = || Refused("the server has ended".to_owned());
        Reply::parse(&self.shared.ask(&words.all()).ok_or_else(ended)?)
    }

    /// Returns waits for states, to be used instead of sleeping.
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

    /// Returns the clock with every option of its commands.
    ///
    /// ```
    /// # use std::time::Duration;
    /// use lockwheel::Turn;
    ///
    /// # let server = lockwheel::Server::builder().port(0).time(lockwheel::Time::Manual).start()?;
    /// server.handle().command(&["SET", "k", "v", "PX", "100"])?;
    /// let clock = server.handle().clock();
    /// assert_eq!(clock.info()?.next, Some(Duration::from_millis(100)));
    /// let turned = clock.next(1, &Turn::new())?.expect("a key expires");
    /// assert_eq!((turned.what[0].kind.as_str(), turned.what[0].of.as_str()), ("expiry", "k"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clock(&self) -> Clock {
        Clock(self.clone())
    }

    /// Returns the control of faults.
    pub fn faults(&self) -> Faults {
        Faults(self.clone())
    }

    /// Returns the history of locks.
    pub fn history(&self) -> History {
        History(self.clone())
    }

    /// Returns a report for a failed test: the clock, the acted faults, the findings in the history, its last entries.
    pub fn report(&self) -> String {
        let mut report = String::new();
        for (title, lines) in [
            ("clock", self.clock_lines()),
            ("faults that acted", self.fault_lines()),
            ("findings", self.finding_lines()),
            ("history", self.history_lines()),
        ] {
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

    fn finding_lines(&self) -> Result<Vec<String>, Refused> {
        let verdict = self.verify(Level::Suspect, None)?;
        let mut lines: Vec<String> = verdict.findings.iter().map(ToString::to_string).collect();
        if lines.is_empty() {
            let reason = verdict.reason.map_or_else(String::new, |reason| format!(": {reason}"));
            lines.push(verdict.verdict + &reason);
        }
        Ok(lines)
    }

    fn history_lines(&self) -> Result<Vec<String>, Refused> {
        let last = self.history().entries(&Filter::all().count(0))?.last;
        let earlier = (last - ENTRIES_SHOWN).max(0);
        let words = Words::of(&["LOCK.HISTORY", "SINCE"]).number(earlier).and("FORMAT").and("TEXT");
        let begin = (earlier > 0).then(|| format!("({earlier} earlier entries)"));
        Ok(begin.into_iter().chain(self.ask(&words)?.text().lines().map(str::to_owned)).collect())
    }
}

/// Formats the fields of a map, without empty values.
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

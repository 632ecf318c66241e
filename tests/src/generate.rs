//! Random command lines from a command's synopsis: most are valid, some are wrong in one of the ways in which a client
//! can be wrong.

use crate::rng::Rng;
use crate::universe;
use lockwheel_engine::spec::syntax::Syntax;

/// The change made to a command line after it was valid in form. (In form: its values may still be refused.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// No change.
    Valid,
    /// Its last words were cut off.
    Short,
    /// Words were added that the synopsis has no place for.
    Long,
    /// A token of the command was added where it may conflict or repeat.
    ExtraToken,
    /// A word was replaced by one that the command does not know.
    UnknownWord,
    /// An argument was replaced by a hostile number or non-number.
    HostileArgument,
}

const MUTATIONS: &[Form] =
    &[Form::Short, Form::Long, Form::ExtraToken, Form::UnknownWord, Form::HostileArgument];

/// A generated command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// The command line, the name first.
    pub arguments: Vec<Vec<u8>>,
    /// The tokens of the synopsis in it, in upper case.
    pub tokens: Vec<String>,
    /// Whether the line was made wrong, and in which way.
    pub form: Form,
}

/// The notation of a synopsis for an empty word.
const EMPTY: &str = "\"\"";

/// The percentage of optional parts that are produced.
const OPTIONAL_PERCENT: usize = 35;
/// The percentage of commands that are made wrong.
const MUTATION_PERCENT: usize = 20;
/// The most repetitions of a repeated part; most parts have few.
const MAX_REPETITIONS: usize = 5;

/// A seeded source of commands: the same seed and calls give the same lines.
#[derive(Clone, Debug)]
pub struct Generator {
    rng: Rng,
}

impl Generator {
    /// Creates the generator of this seed.
    pub fn new(seed: u64) -> Generator {
        Generator { rng: Rng::new(seed) }
    }

    /// The random numbers of the generator, for choices around the commands, such as the command and its connection.
    pub fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// Generates a command line of this command.
    ///
    /// `name` may hold a subcommand after a space or a bar: `object encoding`, `object|encoding`. `group` is the
    /// command's group: most of the keys are of that group's kind.
    pub fn command(&mut self, name: &str, group: &str, syntax: &Syntax<'_>) -> Generated {
        let mut line = Line { rng: &mut self.rng, group, words: Vec::new(), count_at: None, counted: 0 };
        for part in name.split([' ', '|']) {
            let word = line.any_case(part);
            line.words.push(Word::argument(&word));
        }
        let names = line.words.len();
        line.part(syntax);
        let mut words = line.words;
        let form = if self.rng.chance(MUTATION_PERCENT) {
            self.mutate(&mut words, names, syntax)
        } else {
            Form::Valid
        };
        let tokens = words.iter().filter_map(|word| word.token.clone()).collect();
        Generated { arguments: words.into_iter().map(|word| word.bytes).collect(), tokens, form }
    }

    /// Makes a line wrong. Keeps the first `names` words.
    fn mutate(&mut self, words: &mut Vec<Word>, names: usize, syntax: &Syntax<'_>) -> Form {
        let rng = &mut self.rng;
        let tokens = syntax.tokens();
        let any_word = |rng: &mut Rng| Word::argument(rng.pick(&["NOPE", "x", "", "-1", "nx"]).as_bytes());
        match *rng.pick(MUTATIONS) {
            Form::ExtraToken if !tokens.is_empty() => {
                let token = rng.pick(&tokens);
                let at = names + rng.below(words.len() - names + 1);
                words.insert(at, Word::token(token.as_bytes(), token));
                Form::ExtraToken
            }
            Form::Short if words.len() > names => {
                let kept = names + rng.below(words.len() - names);
                words.truncate(kept);
                Form::Short
            }
            Form::UnknownWord if words.len() > names => {
                let at = names + rng.below(words.len() - names);
                words[at] = any_word(rng);
                Form::UnknownWord
            }
            Form::HostileArgument if words[names..].iter().any(Word::may_be_hostile) => {
                let places: Vec<usize> =
                    (names..words.len()).filter(|&index| words[index].may_be_hostile()).collect();
                words[*rng.pick(&places)] = Word::argument(&universe::hostile(rng));
                Form::HostileArgument
            }
            _ => {
                for _ in 0..=rng.below(2) {
                    words.push(any_word(rng));
                }
                Form::Long
            }
        }
    }
}

/// One word of a line.
#[derive(Clone, Debug)]
struct Word {
    bytes: Vec<u8>,
    /// The token of the synopsis that the word is, in upper case.
    token: Option<String>,
    /// Whether the word is a blocking time or a distance, and so must not become an arbitrary number.
    is_kept: bool,
}

impl Word {
    fn argument(bytes: &[u8]) -> Word {
        Word { bytes: bytes.to_vec(), token: None, is_kept: false }
    }

    fn token(bytes: &[u8], token: &str) -> Word {
        Word { bytes: bytes.to_vec(), token: Some(token.to_uppercase()), is_kept: false }
    }

    fn may_be_hostile(&self) -> bool {
        self.token.is_none() && !self.is_kept
    }
}

/// A line under construction.
struct Line<'a> {
    rng: &'a mut Rng,
    group: &'a str,
    words: Vec<Word>,
    /// The position of a `numkeys` whose repetition has not been written yet.
    count_at: Option<usize>,
    /// The number of repetitions that the last `numkeys` counted.
    counted: usize,
}

impl Line<'_> {
    fn part(&mut self, syntax: &Syntax<'_>) {
        match syntax {
            Syntax::Token(word) => {
                let bytes = if word.text == EMPTY { Vec::new() } else { self.any_case(word.text) };
                self.words.push(Word::token(&bytes, word.text));
            }
            Syntax::Argument(word) => self.argument(word.text),
            Syntax::Named(_, part) => self.part(part),
            Syntax::Sequence(parts) => self.sequence(parts),
            Syntax::OneOf(parts) => {
                let mut part = &parts[self.rng.below(parts.len())];
                // A value that a server chooses by its clock differs on another server.
                if matches!(part, Syntax::Token(word) if word.text == "*") && self.rng.chance(85) {
                    part = parts.iter().find(|other| *other != part).unwrap_or(part);
                }
                self.part(part);
            }
            Syntax::Optional(part) => {
                if self.rng.chance(OPTIONAL_PERCENT) || self.count_at.is_some() && self.rng.chance(80) {
                    self.part(part);
                }
                self.settle_count(0);
            }
            Syntax::Repeat(part) => self.repeat(part),
        }
    }

    /// Writes parts in their order, except that neighbouring options may come in any order.
    fn sequence(&mut self, parts: &[Syntax<'_>]) {
        let mut order: Vec<&Syntax<'_>> = parts.iter().collect();
        for run in order.chunk_by_mut(|a, b| is_option(a) && is_option(b)) {
            if self.rng.chance(40) {
                self.rng.shuffle(run);
            }
        }
        for part in order {
            self.part(part);
        }
    }

    fn repeat(&mut self, part: &Syntax<'_>) {
        let mut times = 1;
        while times < MAX_REPETITIONS && self.rng.chance(45) {
            times += 1;
        }
        // There is a weight for each key.
        if matches!(part, Syntax::Argument(word) if word.text == "weight")
            && self.counted > 0
            && self.rng.chance(85)
        {
            times = self.counted;
        }
        let waiting = self.count_at.take();
        for _ in 0..times {
            self.part(part);
        }
        self.count_at = waiting;
        self.settle_count(times);
    }

    fn argument(&mut self, name: &str) {
        let after_block = self.words.last().is_some_and(|word| word.token.as_deref() == Some("BLOCK"));
        let bytes = match after_block {
            true => universe::blocking_milliseconds(self.rng),
            false => universe::argument(self.rng, name, self.group),
        };
        if name == "numkeys" {
            self.count_at = Some(self.words.len());
        }
        let is_kept = after_block || name == "timeout" || universe::is_size(name, self.group);
        self.words.push(Word { bytes, token: None, is_kept });
    }

    /// Writes the number of repetitions at the position of their `numkeys`. Sometimes the random value of `numkeys`
    /// stays, and is wrong.
    fn settle_count(&mut self, times: usize) {
        if let Some(at) = self.count_at.take() {
            self.counted = times;
            if self.rng.chance(92) {
                self.words[at].bytes = times.to_string().into_bytes();
            }
        }
    }

    /// Returns the word as it is, or in another client's spelling.
    fn any_case(&mut self, word: &str) -> Vec<u8> {
        match self.rng.below(10) {
            0 => word.to_lowercase().into_bytes(),
            1 => word.bytes().map(|b| if self.rng.chance(50) { b.to_ascii_lowercase() } else { b }).collect(),
            _ => word.to_uppercase().into_bytes(),
        }
    }
}

/// Whether a part is optional and begins with a token, as options do, so that its position does not matter.
fn is_option(syntax: &Syntax<'_>) -> bool {
    match syntax {
        Syntax::Optional(part) => begins_with_token(part),
        _ => false,
    }
}

fn begins_with_token(syntax: &Syntax<'_>) -> bool {
    match syntax {
        Syntax::Token(_) => true,
        Syntax::Argument(_) => false,
        Syntax::OneOf(parts) => parts.iter().all(begins_with_token),
        _ => syntax.parts().first().is_some_and(begins_with_token),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const SET: &str =
        "key value [NX | XX] [GET] [EX seconds | PX milliseconds | EXAT unix-time-seconds | KEEPTTL]";

    fn many(name: &str, group: &str, synopsis: &str, count: usize) -> Vec<Generated> {
        let syntax = Syntax::parse(synopsis).unwrap();
        let mut generator = Generator::new(5);
        (0..count).map(|_| generator.command(name, group, &syntax)).collect()
    }

    #[test]
    fn a_seed_gives_the_same_lines() {
        assert_eq!(many("set", "string", SET, 50), many("set", "string", SET, 50));
    }

    #[test]
    fn every_form_and_every_token_is_produced() {
        let lines = many("set", "string", SET, 2000);
        let forms: BTreeSet<Form> = lines.iter().map(|line| line.form).collect();
        assert_eq!(forms.len(), MUTATIONS.len() + 1);
        let tokens: BTreeSet<&str> = lines.iter().flat_map(|line| &line.tokens).map(String::as_str).collect();
        assert_eq!(
            tokens.into_iter().collect::<Vec<_>>(),
            ["EX", "EXAT", "GET", "KEEPTTL", "NX", "PX", "XX"]
        );
        let valid = lines.iter().filter(|line| line.form == Form::Valid).count();
        assert!((1400..1800).contains(&valid), "{valid}");
    }

    #[test]
    fn valid_lines_have_the_words_that_the_synopsis_allows() {
        let syntax = Syntax::parse(SET).unwrap();
        for line in many("set", "string", SET, 500).iter().filter(|line| line.form == Form::Valid) {
            let words = line.arguments.len() - 1;
            assert!(words >= syntax.words_min() && words <= syntax.words_max().unwrap(), "{line:?}");
        }
    }

    #[test]
    fn options_come_in_any_order_and_arguments_in_theirs() {
        let lines = many("x", "string", "key [A] [B] count", 500);
        let orders: BTreeSet<String> =
            lines.iter().filter(|line| line.form == Form::Valid).map(|line| line.tokens.join("")).collect();
        assert_eq!(orders.into_iter().collect::<Vec<_>>(), ["", "A", "AB", "B", "BA"]);
    }

    #[test]
    fn numkeys_mostly_counts_the_keys() {
        let synopsis = "numkeys key [key ...] [LIMIT limit]";
        let mut lines = many("sintercard", "set", synopsis, 1000);
        lines.retain(|line| line.form == Form::Valid);
        let right = lines.iter().filter(|line| {
            let keys =
                line.arguments[2..].iter().take_while(|word| !word.eq_ignore_ascii_case(b"LIMIT")).count();
            line.arguments[1] == keys.to_string().as_bytes()
        });
        assert!(right.count() * 100 > lines.len() * 90);
        let none = many("eval", "scripting", "script numkeys [key ...] [arg ...]", 200);
        assert!(none.iter().any(|line| line.arguments.len() == 3 && line.arguments[2] == b"0"));
    }

    #[test]
    fn there_is_mostly_a_weight_for_each_key() {
        let mut lines =
            many("zunion", "sorted-set", "numkeys key [key ...] [WEIGHTS weight [weight ...]]", 1000);
        lines.retain(|line| line.form == Form::Valid && !line.tokens.is_empty());
        let right = lines.iter().filter(|line| {
            let is_token = |word: &Vec<u8>| word.eq_ignore_ascii_case(b"WEIGHTS");
            let at = line.arguments.iter().position(is_token).unwrap();
            at - 2 == line.arguments.len() - at - 1
        });
        assert!(right.count() * 100 > lines.len() * 80);
    }

    #[test]
    fn nothing_blocks_for_long() {
        let lists = many("blpop", "list", "key [key ...] timeout", 3000);
        for line in lists {
            let last = String::from_utf8_lossy(line.arguments.last().unwrap()).into_owned();
            let seconds = last.parse::<f64>().unwrap_or(-1.0);
            let long = seconds == 0.0 || (0.02..1e18).contains(&seconds);
            assert!(line.arguments.len() < 3 || !long, "{last}");
        }
    }

    #[test]
    fn subcommands_are_separate_words() {
        let lines = many("object|encoding", "generic", "key", 20);
        assert!(lines.iter().all(|line| line.arguments[1].eq_ignore_ascii_case(b"encoding")));
    }
}

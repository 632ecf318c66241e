//! The command line, read as redis-server reads it: options become lines of a configuration file.

use super::file::{CommandNames, LoadError, Loader, quote};
use super::source::{Files, Source};
use super::{Config, SaveParameters};

/// The request of a command line.
#[derive(Clone, Debug, PartialEq)]
pub enum Invocation {
    /// Runs a server with these parameters.
    Run(Box<Config>),
    /// Prints the program's help on standard output, and exits with code 0.
    Help,
    /// Prints the program's version on standard output, and exits with code 0.
    Version,
    /// Prints the reason on standard error, and exits with code 1.
    Fail(LoadError),
}

impl Invocation {
    /// Reads the arguments, without the program's own name. `files` reads files and standard input, if the arguments
    /// ask for them. `names` checks the lines that name commands.
    pub fn from_arguments(
        arguments: impl IntoIterator<Item = Vec<u8>>,
        files: &mut dyn Files,
        names: CommandNames,
    ) -> Self {
        Self::with_defaults(Config::default(), arguments, files, names)
    }

    /// As [`from_arguments`](Self::from_arguments); parameters that are not set have the values of `defaults`.
    pub fn with_defaults(
        defaults: Config,
        arguments: impl IntoIterator<Item = Vec<u8>>,
        files: &mut dyn Files,
        names: CommandNames,
    ) -> Self {
        let arguments: Vec<Vec<u8>> = arguments.into_iter().collect();
        match arguments.first().map(Vec::as_slice) {
            Some(b"-v" | b"--version") => return Invocation::Version,
            Some(b"-h" | b"--help") => return Invocation::Help,
            Some(b"--test-memory") => {
                return Invocation::Fail(LoadError::Refused("Testing the memory is not supported"));
            }
            Some(b"--check-system") => {
                return Invocation::Fail(LoadError::Refused("Checking the system is not supported"));
            }
            _ => {}
        }
        let is_sentinel = arguments.iter().any(|argument| argument == b"--sentinel");
        let defaults = if is_sentinel { defaults.with_sentinel_defaults() } else { defaults };
        match load(defaults, &arguments, files, names) {
            Ok(config) if config.sentinel.is_some() && config.file.is_empty() => {
                const NO_FILE: &str = "Sentinel needs config file on disk to save state. Exiting...";
                Invocation::Fail(LoadError::Refused(NO_FILE))
            }
            Ok(config) => Invocation::Run(Box::new(config)),
            Err(error) => Invocation::Fail(error),
        }
    }
}

const SENTINEL_PORT: u16 = 26379;

impl Config {
    /// Makes these parameters the defaults of a sentinel, whose own parameters are still to be read.
    #[must_use]
    pub fn with_sentinel_defaults(self) -> Self {
        Config { port: SENTINEL_PORT, protected_mode: false, sentinel: Some(Vec::new()), ..self }
    }

    /// Makes these the parameters of a sentinel that watches nothing yet and keeps its state in memory.
    #[must_use]
    pub fn into_sentinel(self) -> Self {
        let saves = SaveParameters { load: String::new(), ..self.saves };
        Config { protected_mode: false, sentinel: Some(Vec::new()), file: String::new(), saves, ..self }
    }
}

fn load(
    defaults: Config,
    arguments: &[Vec<u8>],
    files: &mut dyn Files,
    names: CommandNames,
) -> Result<Config, LoadError> {
    let line = CommandLine::read(arguments);
    let mut loader = Loader::new(defaults, files, names);
    let mut text = Vec::new();
    if let Some(path) = line.file {
        let path = String::from_utf8_lossy(path);
        text = loader.read(Source::File(&path))?;
        loader.note_file(&path);
    }
    if line.stdin {
        if text.last().is_some_and(|&last| last != b'\n') {
            text.push(b'\n');
        }
        text.extend(loader.read(Source::Stdin)?);
    }
    text.push(b'\n');
    let lines_of_files = text.iter().filter(|&&byte| byte == b'\n').count();
    text.extend(line.options);
    loader.load(&text).map_err(|error| error.with_options_after(lines_of_files))?;
    loader.finish()
}

/// The value of an option that is given without a value.
fn implied(option: &[u8]) -> Option<&'static [u8]> {
    if option.eq_ignore_ascii_case(b"save") {
        Some(b"\"\"")
    } else if option.eq_ignore_ascii_case(b"exit-with-parent") {
        Some(b"yes")
    } else if option.eq_ignore_ascii_case(b"sentinel") {
        Some(b"")
    } else {
        None
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct CommandLine<'a> {
    file: Option<&'a [u8]>,
    stdin: bool,
    options: Vec<u8>,
}

impl<'a> CommandLine<'a> {
    /// Reads arguments by the rules of redis-server 7.0. A first argument without `-` in front is a file; `-`, first or
    /// last, is standard input. An argument behind an option is the option's value even if it begins with `--`, except
    /// for `--save`, `--sentinel` and our own `--exit-with-parent`. An option and its value may be one argument.
    fn read(arguments: &'a [Vec<u8>]) -> Self {
        let mut line = CommandLine::default();
        let mut rest = arguments;
        if let [first, after @ ..] = arguments
            && first.first() != Some(&b'-')
        {
            line.file = Some(first.as_slice()).filter(|path| !path.is_empty());
            rest = after;
        }
        let mut wants_value = false;
        for (index, argument) in rest.iter().enumerate() {
            let next = rest.get(index + 1);
            let first = index == 0 && rest.len() == arguments.len();
            if argument == b"-" && (first || next.is_none()) {
                line.stdin = true;
            } else if let Some(option) = argument.strip_prefix(b"--").filter(|_| !wants_value) {
                wants_value = line.option(option, next);
            } else {
                quote(argument, &mut line.options);
                line.options.push(b' ');
                wants_value = false;
            }
        }
        line
    }

    /// Begins a line. Returns whether the next argument is a value, whatever it looks like.
    fn option(&mut self, option: &[u8], next: Option<&Vec<u8>>) -> bool {
        if !self.options.is_empty() {
            self.options.push(b'\n');
        }
        self.options.extend(option);
        self.options.push(b' ');
        let has_value = lockwheel_resp::split_words(option).is_none_or(|words| words.len() > 1);
        let next_is_option = next.is_none_or(|next| next.starts_with(b"--"));
        if let Some(value) = implied(option).filter(|_| !has_value && next_is_option) {
            self.options.extend(value);
            return false;
        }
        !has_value
    }
}

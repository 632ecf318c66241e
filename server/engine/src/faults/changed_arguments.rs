//! The arguments of a request with some of its integers replaced.

use crate::spec::Args;
use lockwheel_resp::number;

/// The arguments of a request with some of its integers replaced.
pub(crate) struct ChangedArguments<'a> {
    args: Args<'a>,
    changed: Vec<Option<Vec<u8>>>,
}

impl<'a> ChangedArguments<'a> {
    /// Replaces each integer for which `change`, given its index and value, returns another, but not the name.
    pub(crate) fn new(args: Args<'a>, change: impl Fn(usize, i64) -> Option<i64>) -> Self {
        let changed = |(index, arg): (usize, &&[u8])| {
            let value = number::parse_i64(arg).filter(|_| index > 0)?;
            change(index, value).map(|value| value.to_string().into_bytes())
        };
        let changed = args.all().iter().enumerate().map(changed).collect();
        ChangedArguments { args, changed }
    }

    pub(crate) fn argv(&self) -> Vec<&[u8]> {
        let both = self.args.all().iter().zip(&self.changed);
        both.map(|(arg, changed)| changed.as_deref().unwrap_or(arg)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_changed_and_nothing_else_is() {
        let argv: [&[u8]; 4] = [b"1", b"2", b"x3", b"4"];
        let changed =
            ChangedArguments::new(Args::new(&argv), |index, value| (index < 3).then_some(value + 10));
        assert_eq!(changed.argv(), [&b"1"[..], b"12", b"x3", b"4"]);
    }
}

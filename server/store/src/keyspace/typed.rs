//! The kinds of value, each with its conversion from and to [`Value`].

use crate::values::{Hash, List, Set, Str, Stream, Value, ZSet};

/// A kind of value that a key can hold.
pub trait Typed: Sized {
    /// The value, if it is of this kind.
    fn of(value: &Value) -> Option<&Self>;
    /// The value, if it is of this kind, to be changed.
    fn of_mut(value: &mut Value) -> Option<&mut Self>;
    /// An empty value of this kind.
    fn empty() -> Value;
}

macro_rules! typed {
    ($($kind:ident = $empty:expr;)*) => {
        $(
            impl Typed for $kind {
                fn of(value: &Value) -> Option<&Self> {
                    if let Value::$kind(inner) = value { Some(inner) } else { None }
                }

                fn of_mut(value: &mut Value) -> Option<&mut Self> {
                    if let Value::$kind(inner) = value { Some(inner) } else { None }
                }

                fn empty() -> Value {
                    Value::$kind($empty)
                }
            }
        )*
    };
}

typed! {
    Str = Str::new(b"");
    List = List::new();
    Hash = Hash::new();
    Set = Set::new();
    ZSet = ZSet::new();
}

impl Typed for Stream {
    fn of(value: &Value) -> Option<&Self> {
        if let Value::Stream(inner) = value { Some(inner) } else { None }
    }

    fn of_mut(value: &mut Value) -> Option<&mut Self> {
        if let Value::Stream(inner) = value { Some(inner) } else { None }
    }

    fn empty() -> Value {
        Value::Stream(Box::default())
    }
}

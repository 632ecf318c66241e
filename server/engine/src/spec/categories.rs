//! The categories of commands, as access rules and COMMAND INFO name them.

use super::flags::Flags;
use super::row::Spec;

/// A category of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Category(u8);

/// The names of all categories: those of Redis in its order, then our own.
const NAMES: &[&str] = &[
    "keyspace",
    "read",
    "write",
    "set",
    "sortedset",
    "list",
    "hash",
    "string",
    "bitmap",
    "hyperloglog",
    "geo",
    "stream",
    "pubsub",
    "admin",
    "fast",
    "slow",
    "blocking",
    "dangerous",
    "connection",
    "transaction",
    "scripting",
    "lock",
    "control",
];

impl Category {
    /// All categories, in order.
    pub fn all() -> impl Iterator<Item = Category> {
        (0..NAMES.len() as u8).map(Category)
    }

    /// The category of this name, in any case.
    pub fn find(name: &[u8]) -> Option<Category> {
        Category::all().find(|category| name.eq_ignore_ascii_case(category.name().as_bytes()))
    }

    /// The name, without `@`.
    pub fn name(self) -> &'static str {
        NAMES[usize::from(self.0)]
    }
}

/// A set of categories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Categories(u32);

impl Categories {
    pub(super) fn of(spec: &Spec) -> Self {
        let own = spec.categories;
        let has = |flag| spec.has(flag);
        let implied = [
            (has(Flags::READONLY) && !own.contains(&"scripting"), "read"),
            (has(Flags::WRITE), "write"),
            (has(Flags::PUBSUB), "pubsub"),
            (has(Flags::ADMIN), "admin"),
            (has(Flags::ADMIN), "dangerous"),
            (has(Flags::FAST), "fast"),
            (!has(Flags::FAST), "slow"),
            (has(Flags::BLOCKING), "blocking"),
        ];
        let is_in = |category: &Category| {
            own.contains(&category.name()) || implied.contains(&(true, category.name()))
        };
        Categories(Category::all().filter(is_in).fold(0, |bits, category| bits | 1 << category.0))
    }

    /// Whether the set contains a category. O(1).
    pub fn contains(self, category: Category) -> bool {
        self.0 & 1 << category.0 != 0
    }

    /// The names of the categories, in order.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Category::all().filter(move |category| self.contains(*category)).map(Category::name)
    }
}

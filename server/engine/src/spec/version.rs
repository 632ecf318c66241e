//! Versions of Redis, which tell the age of a command or an option.

/// The version whose commands a server has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Redis 6.2.
    V6_2,
    /// Redis 7.0.
    V7_0,
    /// Redis 7.2.
    V7_2,
    /// Redis 7.2 with the additions since.
    #[default]
    Newest,
    /// Redis 8.8: also the additions of 8.4 and 8.8. They have not been compared with a server of that version.
    V8_8,
}

impl Version {
    /// The names of the versions, in the order of the versions.
    pub const NAMES: &[&str] = &["6.2", "7.0", "7.2", "newest", "8.8"];
    /// All versions, in this order.
    pub const ALL: [Self; 5] = [Version::V6_2, Version::V7_0, Version::V7_2, Version::Newest, Version::V8_8];
    /// The releases whose additions only `V8_8` has. No server is available here to compare them with.
    const UNVERIFIED: [(u32, u32); 2] = [(8, 4), (8, 8)];

    /// The release that a server of this version reports to clients.
    pub const fn release(self) -> &'static str {
        match self {
            Version::V6_2 => "6.2.14",
            Version::V7_0 => "7.0.15",
            Version::V7_2 | Version::Newest => super::REDIS_VERSION,
            Version::V8_8 => "8.8.0",
        }
    }

    /// Whether this version has the additions of the release `since`, three numbers with dots.
    pub fn has(self, since: &str) -> bool {
        let number = |word: &str| word.parse::<u32>().unwrap_or(0);
        let mut words = since.split('.').map(number);
        let since = (words.next().unwrap_or(0), words.next().unwrap_or(0));
        match self {
            Version::V6_2 => since <= (6, 2),
            Version::V7_0 => since <= (7, 0),
            Version::V7_2 => since <= (7, 2),
            Version::Newest => !Self::UNVERIFIED.contains(&since),
            Version::V8_8 => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_includes_features_of_older_versions() {
        let has = |since| Version::ALL.map(|version| version.has(since));
        assert_eq!(has("1.0.0"), [true; 5]);
        assert_eq!(has("6.2.7"), [true; 5]);
        assert_eq!(has("7.0.3"), [false, true, true, true, true]);
        assert_eq!(has("7.2.0"), [false, false, true, true, true]);
        assert_eq!(has("8.1.0"), [false, false, false, true, true]);
        assert_eq!(has("8.4.0"), [false, false, false, false, true]);
        assert_eq!(has("9.0.0"), [false, false, false, true, true]);
    }
}

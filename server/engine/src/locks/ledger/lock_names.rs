//! Keys whose names say that they are locks: `lock:order:1`, `orderLock`, `cache~lock`, `job-mutex`. A text set by `SET
//! NX` without a lease may be a lock, a counter, a mark or a unique name: the key's name decides.

/// The words that name a lock, alone or at the end of another word.
const WORDS: [&[u8]; 4] = [b"lock", b"locks", b"mutex", b"mutexes"];

/// Words that end like the name of a lock, but name something else.
const OTHERS: [&[u8]; 7] = [b"block", b"blocks", b"clock", b"clocks", b"flock", b"flocks", b"unlock"];

/// Whether one of the words in a key's name means a lock. O(n), n its bytes.
pub(in crate::locks) fn names_lock(key: &[u8]) -> bool {
    let mut from = 0;
    for at in 0..key.len() {
        if !key[at].is_ascii_alphabetic() {
            from = at + 1;
            continue;
        }
        let next = key.get(at + 1).copied().unwrap_or_default();
        let is_hump = key[at].is_ascii_lowercase() && next.is_ascii_uppercase();
        if (is_hump || !next.is_ascii_alphabetic()) && is_lock(&key[from..=at]) {
            return true;
        }
        if is_hump {
            from = at + 1;
        }
    }
    false
}

fn is_lock(word: &[u8]) -> bool {
    let ends_with = |end: &&[u8]| {
        word.len().checked_sub(end.len()).is_some_and(|from| word[from..].eq_ignore_ascii_case(end))
    };
    WORDS.iter().any(ends_with) && !OTHERS.iter().any(ends_with)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_with_a_lock_word_in_its_name_is_a_lock() {
        for key in
            ["lock", "lock:a", "LOCK_1", "order:1:lock", "orderLock", "OrderLock2", "cache~lock", "mylock"]
        {
            assert!(names_lock(key.as_bytes()), "{key}");
        }
        for key in ["locks:a", "a.locks", "job-mutex", "RedisMutex:a", "{a}:lock", "lock\u{e9}", "spinLOCK"] {
            assert!(names_lock(key.as_bytes()), "{key}");
        }
        for key in [
            "",
            "clock",
            "wall-clock:1",
            "blocks",
            "textBlock",
            "unlock",
            "flock",
            "locked",
            "locker:a",
            "lo",
        ] {
            assert!(!names_lock(key.as_bytes()), "{key}");
        }
    }
}

//! Shrinks a failing sequence.

/// Returns the smallest failing sequence found by leaving out runs of items. `fails` says whether a sequence fails.
///
/// Calls `fails` O(n log n) times for a failure that one item causes, O(n²) at the worst.
pub(crate) fn shrink<T: Clone>(items: &[T], mut fails: impl FnMut(&[T]) -> bool) -> Vec<T> {
    let mut kept = items.to_vec();
    let mut run = kept.len().div_ceil(2).max(1);
    while kept.len() > 1 {
        let mut at = 0;
        let mut shorter = false;
        while at < kept.len() {
            let mut fewer = kept.clone();
            fewer.drain(at..(at + run).min(kept.len()));
            if !fewer.is_empty() && fails(&fewer) {
                kept = fewer;
                shorter = true;
            } else {
                at += run;
            }
        }
        if run == 1 && !shorter {
            break;
        }
        if !shorter {
            run = run.div_ceil(2).max(1);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::shrink;

    #[test]
    fn irrelevant_commands_are_removed() {
        let items: Vec<u32> = (0..100).collect();
        assert_eq!(shrink(&items, |kept| kept.contains(&17) && kept.contains(&80)), [17, 80]);
        assert_eq!(shrink(&items, |kept| kept.contains(&99)), [99]);
        assert_eq!(shrink(&[1], |_| true), [1]);
        assert_eq!(shrink(&items, |kept| kept.len() == 100), items);
    }
}

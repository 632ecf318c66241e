//! The cached scripts, by text and by digest. The compiled functions are in the interpreter, at the same slots.

use crate::sha::Sha;
use crate::shebang::Flags;
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashTable};
use std::cell::RefCell;
use std::hash::BuildHasher;

/// The most scripts that came by EVAL. Beyond that, scripts not used for the longest time are evicted first.
const MAX_EVALS: usize = 20_000;
/// The most bytes of the texts of these scripts, likewise. Scripts that came by SCRIPT LOAD stay until they are
/// flushed.
const MAX_EVAL_BYTES: usize = 64 << 20;

/// The id of a cached script, valid until the script is flushed or forgotten. Running it after that gives the error
/// NOSCRIPT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScriptId {
    pub(crate) slot: u32,
    /// Distinguishes scripts that have used the same slot.
    serial: u64,
}

struct Script {
    text: Box<[u8]>,
    flags: Flags,
    serial: u64,
    /// Whether the script stays until it is flushed.
    loaded: bool,
    /// Whether the script was used since the clock hand last passed (second-chance eviction).
    used: bool,
}

/// The digests of scripts, computed at the first look-up by digest after a script came by its text.
struct Digests {
    slots: HashMap<Sha, u32, FixedState>,
    /// Scripts whose digest is not yet computed.
    pending: Vec<ScriptId>,
}

impl Digests {
    /// Makes an empty table. The seed decides its hash, since clients choose the scripts.
    fn new(seed: u64) -> Digests {
        Digests { slots: HashMap::with_hasher(FixedState::with_seed(seed)), pending: Vec::new() }
    }
}

pub(crate) struct Cache {
    hasher: FixedState,
    by_text: HashTable<u32>,
    scripts: Vec<Option<Script>>,
    vacant: Vec<u32>,
    digests: RefCell<Digests>,
    serial: u64,
    evals: usize,
    eval_bytes: usize,
    /// The slot at which the search for a script to evict continues.
    hand: usize,
}

impl Cache {
    pub(crate) fn new(seed: u64) -> Cache {
        Cache {
            hasher: FixedState::with_seed(seed),
            by_text: HashTable::new(),
            scripts: Vec::new(),
            vacant: Vec::new(),
            digests: RefCell::new(Digests::new(seed)),
            serial: 0,
            evals: 0,
            eval_bytes: 0,
            hand: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_text.len()
    }

    /// Bytes of memory of the scripts. O(scripts).
    pub(crate) fn bytes(&self) -> usize {
        let texts: usize = self.scripts.iter().flatten().map(|script| script.text.len()).sum();
        texts + self.scripts.len() * size_of::<Option<Script>>()
    }

    /// The script with this text. O(length), without a digest.
    pub(crate) fn by_text(&mut self, text: &[u8]) -> Option<ScriptId> {
        let hash = self.hasher.hash_one(text);
        let same =
            |slot: &u32| self.scripts[*slot as usize].as_ref().is_some_and(|script| *script.text == *text);
        let slot = *self.by_text.find(hash, same)?;
        self.scripts[slot as usize].as_mut().map(|script| {
            script.used = true;
            ScriptId { slot, serial: script.serial }
        })
    }

    /// The script with this digest, 40 hexadecimal digits of either case. O(1), once every new script has its digest.
    pub(crate) fn by_sha(&self, hex: &[u8]) -> Option<ScriptId> {
        let hex: &[u8; 40] = hex.try_into().ok()?;
        let mut digests = self.digests.borrow_mut();
        if !digests.pending.is_empty() {
            self.make_digests(&mut digests);
        }
        let found = digests
            .slots
            .get(hex)
            .or_else(|| digests.slots.get(&hex.map(|digit| digit.to_ascii_lowercase())));
        let slot = *found?;
        let script = self.scripts[slot as usize].as_ref()?;
        Some(ScriptId { slot, serial: script.serial })
    }

    #[cold]
    fn make_digests(&self, digests: &mut Digests) {
        for id in std::mem::take(&mut digests.pending) {
            if let Some(script) = self.get(id) {
                digests.slots.insert(Sha::of(&script.text), id.slot);
            }
        }
    }

    pub(crate) fn contains(&self, id: ScriptId) -> bool {
        self.get(id).is_some()
    }

    pub(crate) fn flags(&self, id: ScriptId) -> Flags {
        self.get(id).map(|script| script.flags).unwrap_or_default()
    }

    pub(crate) fn text(&self, id: ScriptId) -> Option<&[u8]> {
        self.get(id).map(|script| &*script.text)
    }

    /// The digest of a script. O(length of the script).
    pub(crate) fn sha(&self, id: ScriptId) -> Option<Sha> {
        self.get(id).map(|script| Sha::of(&script.text))
    }

    /// Keeps a script until it is flushed.
    pub(crate) fn mark_loaded(&mut self, id: ScriptId) {
        if let Some(script) =
            self.scripts[id.slot as usize].as_mut().filter(|script| script.serial == id.serial)
            && !script.loaded
        {
            script.loaded = true;
            self.evals -= 1;
            self.eval_bytes -= script.text.len();
        }
    }

    /// The slot that the next inserted script gets.
    pub(crate) fn next_slot(&self) -> u32 {
        self.vacant.last().copied().unwrap_or(self.scripts.len() as u32)
    }

    /// Adds a script, which must be new, at [`next_slot`](Cache::next_slot).
    pub(crate) fn insert(&mut self, text: &[u8], flags: Flags) -> ScriptId {
        let slot = self.next_slot();
        if self.vacant.pop().is_none() {
            self.scripts.push(None);
        }
        self.serial += 1;
        let id = ScriptId { slot, serial: self.serial };
        self.scripts[slot as usize] =
            Some(Script { text: text.into(), flags, serial: id.serial, loaded: false, used: true });
        let (hasher, scripts) = (&self.hasher, &self.scripts);
        let rehash =
            |slot: &u32| scripts[*slot as usize].as_ref().map_or(0, |script| hasher.hash_one(&*script.text));
        self.by_text.insert_unique(hasher.hash_one(text), slot, rehash);
        self.digests.get_mut().pending.push(id);
        self.evals += 1;
        self.eval_bytes += text.len();
        id
    }

    /// Evicts a script if room is needed; returns its slot. Call it until it returns `None`.
    pub(crate) fn forget_one(&mut self) -> Option<u32> {
        if self.evals <= MAX_EVALS && self.eval_bytes <= MAX_EVAL_BYTES {
            return None;
        }
        // Two rounds always find a script: the first clears the marks of use.
        for _ in 0..2 * self.scripts.len() {
            let slot = self.hand % self.scripts.len();
            self.hand = slot + 1;
            match &mut self.scripts[slot] {
                Some(script) if script.loaded => {}
                Some(script) if script.used => script.used = false,
                Some(_) => return Some(self.remove(slot as u32)),
                None => {}
            }
        }
        None
    }

    /// Removes a script, loaded or not; returns its slot.
    pub(crate) fn forget(&mut self, id: ScriptId) -> Option<u32> {
        let script = self.scripts.get_mut(id.slot as usize)?.as_mut();
        let script = script.filter(|script| script.serial == id.serial)?;
        if std::mem::take(&mut script.loaded) {
            self.evals += 1;
            self.eval_bytes += script.text.len();
        }
        Some(self.remove(id.slot))
    }

    fn remove(&mut self, slot: u32) -> u32 {
        if let Some(script) = self.scripts[slot as usize].take() {
            let hash = self.hasher.hash_one(&*script.text);
            if let Ok(entry) = self.by_text.find_entry(hash, |other| *other == slot) {
                entry.remove();
            }
            let digests = self.digests.get_mut();
            let before = digests.pending.len();
            digests.pending.retain(|id| id.slot != slot);
            if digests.pending.len() == before {
                digests.slots.remove(&Sha::of(&script.text));
            }
            self.evals -= 1;
            self.eval_bytes -= script.text.len();
            self.vacant.push(slot);
        }
        slot
    }

    /// Drops all scripts.
    pub(crate) fn clear(&mut self) {
        let (serial, hasher) = (self.serial, self.hasher.clone());
        *self = Cache { serial, hasher, ..Cache::new(0) };
    }

    fn get(&self, id: ScriptId) -> Option<&Script> {
        self.scripts.get(id.slot as usize)?.as_ref().filter(|script| script.serial == id.serial)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_decides_the_hash_of_digests() {
        let hash = |seed| Cache::new(seed).digests.borrow().slots.hasher().hash_one(Sha::of(b"return 1"));
        assert_eq!(hash(1), hash(1));
        assert_ne!(hash(1), hash(2));
    }

    #[test]
    fn finds_by_text_and_digest_until_cleared() {
        let mut cache = Cache::new(1);
        let one = cache.insert(b"return 1", Flags::default());
        let two = cache.insert(b"return 2", Flags { no_writes: true, ..Flags::default() });
        assert_ne!(one, two);
        assert_eq!(cache.by_text(b"return 1"), Some(one));
        assert_eq!(cache.by_text(b"return 3"), None);
        let sha = cache.sha(two).unwrap();
        assert_eq!(cache.by_sha(sha.as_bytes()), Some(two));
        assert_eq!(cache.by_sha(sha.to_string().to_uppercase().as_bytes()), Some(two));
        assert!(cache.flags(two).no_writes);
        cache.mark_loaded(two);
        assert_eq!(cache.text(two), Some(&b"return 2"[..]));
        assert_eq!(cache.forget(two), Some(1));
        assert_eq!((cache.by_sha(sha.as_bytes()), cache.forget(two), cache.len()), (None, None, 1));
        assert_eq!((cache.evals, cache.eval_bytes), (1, 8));
        cache.clear();
        assert_eq!(cache.len(), 0);
        assert!(!cache.contains(one));
        assert_eq!(cache.by_sha(sha.as_bytes()), None);
        let three = cache.insert(b"return 1", Flags::default());
        assert!(!cache.contains(one), "the slot has another script now");
        assert!(cache.contains(three));
    }

    #[test]
    fn forgets_what_came_by_text_and_is_not_used() {
        let mut cache = Cache::new(1);
        let text = |n: usize| format!("return {n}").into_bytes();
        let loaded = cache.insert(&text(0), Flags::default());
        cache.mark_loaded(loaded);
        cache.mark_loaded(loaded);
        let ids: Vec<_> = (1..=MAX_EVALS).map(|n| cache.insert(&text(n), Flags::default())).collect();
        assert_eq!(cache.forget_one(), None);
        let last = cache.insert(&text(MAX_EVALS + 1), Flags::default());
        assert_eq!(cache.forget_one(), Some(ids[0].slot));
        assert_eq!(cache.forget_one(), None);
        assert_eq!(cache.by_text(&text(1)), None);
        assert_eq!(cache.by_text(&text(2)), Some(ids[1]), "and it is marked as used");
        assert_eq!(cache.next_slot(), ids[0].slot);
        cache.insert(&text(MAX_EVALS + 2), Flags::default());
        assert_eq!(cache.forget_one(), Some(ids[2].slot), "the one used meanwhile stays");
        assert!(cache.contains(loaded) && cache.contains(last));
        let sha = Sha::of(&text(3));
        assert_eq!(cache.by_sha(sha.as_bytes()), None);
        assert_eq!(cache.len(), MAX_EVALS + 1);
    }
}

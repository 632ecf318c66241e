//! Sessions that clients may resume for a limited time.

use parking_lot::Mutex;
use rustls::server::StoresServerSessions;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::time::{Duration, Instant};

/// Sessions by their keys, limited in number and age.
pub(super) struct SessionCache {
    /// The limit of the number of sessions; 0 means no limit.
    most: usize,
    lifetime: Duration,
    sessions: Mutex<Sessions>,
}

#[derive(Default)]
struct Sessions {
    by_key: HashMap<Vec<u8>, Session>,
    /// The time of storing of each session, the oldest first. Sessions that were taken are still listed.
    stored: VecDeque<(Instant, Vec<u8>)>,
}

struct Session {
    stored: Instant,
    value: Vec<u8>,
}

impl SessionCache {
    pub(super) fn new(most: usize, lifetime: Duration) -> Self {
        SessionCache { most, lifetime, sessions: Mutex::default() }
    }

    fn put_at(&self, now: Instant, key: Vec<u8>, value: Vec<u8>) {
        let mut sessions = self.sessions.lock();
        while let Some((stored, _)) = sessions.stored.front()
            && (now.duration_since(*stored) >= self.lifetime || sessions.stored.len() == self.most)
        {
            sessions.drop_oldest();
        }
        sessions.stored.push_back((now, key.clone()));
        sessions.by_key.insert(key, Session { stored: now, value });
    }

    fn is_alive(&self, now: Instant, session: &Session) -> bool {
        now.duration_since(session.stored) < self.lifetime
    }

    fn get_at(&self, now: Instant, key: &[u8]) -> Option<Vec<u8>> {
        let sessions = self.sessions.lock();
        sessions
            .by_key
            .get(key)
            .filter(|session| self.is_alive(now, session))
            .map(|session| session.value.clone())
    }

    fn take_at(&self, now: Instant, key: &[u8]) -> Option<Vec<u8>> {
        let session = self.sessions.lock().by_key.remove(key);
        session.filter(|session| self.is_alive(now, session)).map(|session| session.value)
    }
}

impl Sessions {
    fn drop_oldest(&mut self) {
        if let Some((stored, key)) = self.stored.pop_front() {
            // The session may have been stored again since.
            if self.by_key.get(&key).is_some_and(|session| session.stored == stored) {
                self.by_key.remove(&key);
            }
        }
    }
}

impl StoresServerSessions for SessionCache {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        self.put_at(Instant::now(), key, value);
        true
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.get_at(Instant::now(), key)
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.take_at(Instant::now(), key)
    }

    fn can_cache(&self) -> bool {
        true
    }
}

impl fmt::Debug for SessionCache {
    /// Omits the sessions, which are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionCache").field("most", &self.most).field("lifetime", &self.lifetime).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFETIME: Duration = Duration::from_secs(300);

    fn key(number: u8) -> Vec<u8> {
        vec![number]
    }

    #[test]
    fn a_session_is_kept_for_its_lifetime() {
        let (cache, now) = (SessionCache::new(0, LIFETIME), Instant::now());
        cache.put_at(now, key(1), b"a".to_vec());
        let last = now + LIFETIME - Duration::from_millis(1);
        assert_eq!(cache.get_at(last, &key(1)).as_deref(), Some(&b"a"[..]));
        assert_eq!(cache.get_at(now + LIFETIME, &key(1)), None);
        assert_eq!(cache.take_at(now + LIFETIME, &key(1)), None);
        assert_eq!(cache.get_at(now, &key(2)), None);
    }

    #[test]
    fn a_taken_session_is_removed() {
        let (cache, now) = (SessionCache::new(0, LIFETIME), Instant::now());
        cache.put_at(now, key(1), b"a".to_vec());
        assert_eq!(cache.take_at(now, &key(1)).as_deref(), Some(&b"a"[..]));
        assert_eq!(cache.take_at(now, &key(1)), None);
    }

    #[test]
    fn the_oldest_sessions_are_evicted() {
        let (cache, now) = (SessionCache::new(2, LIFETIME), Instant::now());
        for number in 0..9 {
            cache.put_at(now, key(number), b"a".to_vec());
        }
        let kept = (0..9).filter(|&number| cache.get_at(now, &key(number)).is_some()).collect::<Vec<_>>();
        assert_eq!(kept, [7, 8]);
        // Expired sessions are removed, whatever the limit.
        let cache = SessionCache::new(0, LIFETIME);
        for number in 0..9 {
            cache.put_at(now + LIFETIME * number.into(), key(number), b"a".to_vec());
        }
        let sessions = cache.sessions.lock();
        assert_eq!((sessions.by_key.len(), sessions.stored.len()), (1, 1));
    }

    #[test]
    fn a_session_stored_again_has_a_new_lifetime() {
        let (cache, now) = (SessionCache::new(2, LIFETIME), Instant::now());
        cache.put_at(now, key(1), b"a".to_vec());
        cache.put_at(now + Duration::from_secs(1), key(1), b"b".to_vec());
        cache.put_at(now + Duration::from_secs(2), key(2), b"c".to_vec());
        assert_eq!(cache.get_at(now, &key(1)).as_deref(), Some(&b"b"[..]));
    }
}

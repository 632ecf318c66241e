//! While a lock is delayed, Redisson's own scripts find it held, and get the remaining time.

use super::interop::{Act, OWNERS, Scripts, World};

#[test]
fn scripts_of_redisson_wait_until_a_delay_ends() {
    for version in ["3.6.5", "3.24.3", "4.7.0"] {
        let Some(scripts) = Scripts::of(version) else { return };
        for (mode, acts) in [
            ("", &[Act::Lock, Act::Read, Act::Write][..]),
            ("EXCLUSIVE", &[Act::Lock, Act::Read, Act::Write]),
        ] {
            // A plain lock does not block a reader or writer of Redisson, which may enter such a lock.
            let acts = if mode.is_empty() { &acts[..1] } else { acts };
            for &act in acts {
                let mut world = World::new();
                world.ask(&format!("LOCK.ACQUIRE l a PX 1000 DELAY 700 {mode}"));
                let request = scripts.request(act, OWNERS[0]);
                assert_eq!(world.ask(&request), ":1000\r\n", "{version} {mode} {act:?}");
                world.ask("CLOCK.ADVANCE 1000");
                assert_eq!(world.ask(&request), ":700\r\n", "{version} {mode} {act:?}");
                world.ask("CLOCK.ADVANCE 699");
                assert_eq!(world.ask(&request), ":1\r\n", "{version} {mode} {act:?}");
                world.ask("CLOCK.ADVANCE 1");
                assert_eq!(world.ask(&request), "$-1\r\n", "{version} {mode} {act:?}");
            }
        }
    }
}

#[test]
fn during_a_readers_delay_redisson_readers_enter_and_writers_wait() {
    for version in ["3.6.5", "3.24.3", "4.7.0"] {
        let Some(scripts) = Scripts::of(version) else { return };
        let mut world = World::new();
        world.ask("LOCK.ACQUIRE l a SHARED PX 1000 DELAY 40000");
        world.ask("CLOCK.ADVANCE 1000");
        let [read, end_read, write] = [(Act::Read, 0), (Act::EndRead, 0), (Act::Write, 1)]
            .map(|(act, n)| scripts.request(act, OWNERS[n]));
        assert_eq!(world.ask(&write), ":40000\r\n", "{version}");
        assert_eq!(world.ask(&read), "$-1\r\n", "{version}");
        assert_eq!(world.ask("HLEN l"), ":3\r\n");
        world.ask("CLOCK.ADVANCE 5000");
        world.ask(&end_read);
        assert_eq!(world.ask(&write), ":35000\r\n", "{version}");
        assert!(world.ask("LOCK.INFO l").contains("delay\r\n:35000\r\n"));
        world.ask("CLOCK.ADVANCE 35000");
        assert_eq!(world.ask("DBSIZE"), ":0\r\n", "{version}");
        assert_eq!(world.ask(&write), "$-1\r\n", "{version}");
    }
}

//! Tests of the clock in each of its modes.

use super::*;

/// The system's time `us` µs after a fixed start.
fn system(us: u64) -> Now {
    Now { wall_us: 1_700_000_000_000_400 + us as i64, monotonic_us: 5_000_700 + us }
}

fn at(wall_us: i64, monotonic_us: u64) -> Now {
    Now { wall_us: 1_700_000_000_000_000 + wall_us, monotonic_us }
}

fn wall_in(ms: i64) -> Deadlines {
    Deadlines { wall_ms: Some(1_700_000_000_000 + ms), monotonic_ms: None }
}

fn monotonic_in(ms: i64) -> Deadlines {
    Deadlines { wall_ms: None, monotonic_ms: Some(ms) }
}

#[test]
fn a_real_clock_runs_with_the_system() {
    let clock = Clock::new(Mode::Real, system(0));
    assert_eq!(clock.read(system(0)), at(400, 400));
    assert_eq!(clock.read(system(1_234)), at(1_634, 1_634));
    assert_eq!(clock.info(system(7)), Info { mode: Mode::Real, now: at(407, 407), offset_ms: 0 });
}

#[test]
fn a_manual_clock_starts_frozen_at_a_whole_millisecond() {
    let clock = Clock::new(Mode::Manual, system(0));
    assert_eq!(clock.read(system(9_999_999)), at(0, 0));
    assert_eq!(clock.info(system(2_000_000)).offset_ms, -2_000);
    assert_eq!(clock.mode(), Mode::Manual);
}

#[test]
fn freezing_moves_no_clock_back_a_millisecond_and_is_idempotent() {
    let mut clock = Clock::new(Mode::Real, system(0));
    clock.freeze(system(1_900));
    assert_eq!(clock.read(system(1_900)), at(2_000, 3_000));
    clock.freeze(system(50_000));
    assert_eq!(clock.read(system(60_000)), at(2_000, 3_000));
}

#[test]
fn resuming_keeps_the_offset() {
    let mut clock = Clock::new(Mode::Real, system(0));
    clock.freeze(system(0));
    clock.advance_us(system(10), 5_000_000).unwrap();
    clock.resume(system(1_000_000));
    assert_eq!(clock.read(system(1_000_000)), at(5_000_000, 5_001_000));
    assert_eq!(clock.read(system(1_500_000)), at(5_500_000, 5_501_000));
    assert_eq!(clock.mode(), Mode::Real);
    clock.resume(system(1_600_000));
    assert_eq!(clock.read(system(1_600_000)), at(5_600_000, 5_601_000));
}

#[test]
fn a_reset_restores_the_wall_and_continues_the_monotonic_clock() {
    let mut clock = Clock::new(Mode::Real, system(0));
    clock.freeze(system(2_000));
    clock.advance_us(system(2_000), 3_000).unwrap();
    clock.reset(system(9_000));
    assert_eq!(clock.info(system(9_000)), Info { mode: Mode::Real, now: at(9_400, 6_000), offset_ms: 0 });
    assert_eq!(clock.read(system(9_500)), at(9_900, 6_500));
    // The monotonic clock is ahead of the system's, and stays ahead.
    clock.advance_us(system(9_500), 1_000_000).unwrap();
    clock.reset(system(9_600));
    assert_eq!(clock.read(system(9_600)), at(10_000, 1_006_600));
}

#[test]
fn a_restart_restores_wall_and_mode_but_no_monotonic_time() {
    for mode in [Mode::Real, Mode::Manual] {
        let at_start = Clock::new(mode, system(0));
        let mut clock = at_start.clone();
        clock.advance_us(system(300), 5_000_000).unwrap();
        clock.step(system(400), -77_000).unwrap();
        match mode {
            Mode::Real => clock.freeze(system(500)),
            Mode::Manual => clock.resume(system(500)),
        }
        let before = clock.read(system(900));
        clock.restart(&at_start, system(900));
        let after = clock.read(system(900));
        assert_eq!((clock.mode(), after.wall_us), (mode, at_start.read(system(900)).wall_us));
        assert!((0..1000).contains(&(after.monotonic_us - before.monotonic_us)), "{before:?} {after:?}");
        assert_eq!(clock.read(system(9_900)).wall_us, at_start.read(system(9_900)).wall_us);
    }
}

#[test]
fn stepping_moves_only_the_wall_clock() {
    for mode in [Mode::Real, Mode::Manual] {
        let mut clock = Clock::new(mode, system(0));
        let before = clock.read(system(0));
        clock.step(system(0), -3_600_000).unwrap();
        let after = clock.read(system(0));
        assert_eq!(after, Now { wall_us: before.wall_us - 3_600_000_000, ..before });
        clock.step(system(0), 3_600_005).unwrap();
        assert_eq!(
            clock.info(system(0)),
            Info { mode, now: Now { wall_us: before.wall_us + 5_000, ..before }, offset_ms: 5 }
        );
    }
}

#[test]
fn setting_moves_the_wall_clock_to_a_time() {
    for mode in [Mode::Real, Mode::Manual] {
        let mut clock = Clock::new(mode, system(0));
        clock.set(system(300), 1_893_456_000_000).unwrap();
        let now = clock.read(system(300));
        assert_eq!(now.wall_us, 1_893_456_000_000_000);
        assert_eq!(now.monotonic_us, if mode == Mode::Real { 700 } else { 0 });
    }
}

#[test]
fn advancing_stops_at_every_deadline_at_its_own_instant() {
    for mode in [Mode::Real, Mode::Manual] {
        let mut clock = Clock::new(mode, system(0));
        let frozen = system(650);
        let end = clock.after(frozen, 100).unwrap();
        let mut stops = Vec::new();
        let mut due = vec![wall_in(40), monotonic_in(30), wall_in(500)];
        due.sort_by_key(|deadlines| clock.read(frozen).us_until(*deadlines, ExpiryRule::Reached));
        for deadlines in due {
            let now = clock.read(frozen);
            let Some(us) = now
                .us_until(deadlines, ExpiryRule::Reached)
                .filter(|&us| us <= end.monotonic_us - now.monotonic_us)
            else {
                continue;
            };
            clock.advance_us(frozen, us).unwrap();
            stops.push((clock.read(frozen).wall_ms() - 1_700_000_000_000, clock.read(frozen).monotonic_ms()));
        }
        let left = end.monotonic_us - clock.read(frozen).monotonic_us;
        clock.advance_us(frozen, left).unwrap();
        assert_eq!(clock.read(frozen), end);
        assert_eq!((stops[0].1, stops[1].0, stops.len()), (30, 40, 2));
    }
}

#[test]
fn changes_out_of_range_are_refused_and_change_nothing() {
    for mode in [Mode::Real, Mode::Manual] {
        let mut clock = Clock::new(mode, system(0));
        let before = clock.read(system(0));
        assert_eq!(clock.after(system(0), i64::MAX as u64), Err(ClockError));
        assert_eq!(clock.after(system(0), (MAX_US / 1_000) as u64), Err(ClockError));
        assert_eq!(clock.advance_us(system(0), u64::MAX), Err(ClockError));
        assert_eq!(clock.advance_us(system(0), MAX_US as u64), Err(ClockError));
        for ms in [i64::MAX, i64::MIN, i64::MIN / 1_000, i64::MAX / 1_000, -1_700_000_000_001] {
            assert_eq!(clock.step(system(0), ms), Err(ClockError), "{ms}");
        }
        for ms in [i64::MAX, i64::MIN, -1, MAX_US / 1_000 + 1] {
            assert_eq!(clock.set(system(0), ms), Err(ClockError), "{ms}");
        }
        assert_eq!(clock.read(system(0)), before);
        clock.set(system(0), MAX_US / 1_000).unwrap();
        assert_eq!(clock.advance_us(system(0), 1_000_000), Err(ClockError));
        clock.set(system(0), 0).unwrap();
        assert_eq!(clock.read(system(0)).wall_us, 0);
    }
}

#[test]
fn a_clock_runs_on_past_every_end_without_overflow() {
    let far = Now { wall_us: i64::MAX, monotonic_us: u64::MAX };
    for start in [far, Now { wall_us: i64::MIN, monotonic_us: 0 }] {
        let mut clock = Clock::new(Mode::Real, start);
        for system in [far, start] {
            assert!(clock.read(system).wall_us >= 0);
            clock.freeze(system);
            clock.info(system);
            clock.resume(system);
            clock.reset(system);
            assert_eq!(clock.step(system, i64::MAX), Err(ClockError));
        }
    }
}

#[test]
fn until_returns_system_time_or_none_while_frozen() {
    let mut clock = Clock::new(Mode::Real, system(0));
    assert_eq!(clock.until(system(0), wall_in(2)), Some(2_600));
    assert_eq!(clock.until(system(0), monotonic_in(2)), Some(2_600));
    assert_eq!(clock.until(system(2_600), wall_in(2)), Some(0));
    assert_eq!(clock.until(system(0), Deadlines::default()), None);
    clock.step(system(0), 1).unwrap();
    assert_eq!(clock.until(system(0), wall_in(2)), Some(1_600));
    clock.freeze(system(0));
    assert_eq!(clock.until(system(0), wall_in(2)), None);
    assert_eq!(clock.until(system(0), wall_in(-9)), None);
}

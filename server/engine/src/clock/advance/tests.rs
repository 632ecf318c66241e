//! The state machine of an advance, driven by a list of deadlines instead of an engine.

use super::*;
use std::time::Duration;

/// A substitute for engines: deadlines in microseconds from the start, some of which send a message to a client.
#[derive(Debug, Default)]
struct World {
    at_us: u64,
    deadlines: Vec<(u64, bool)>,
    wakes: u64,
    system_us: u64,
    quiet_since_us: u64,
    is_joint: bool,
    resets: u64,
    /// The steps taken, in order.
    steps: Vec<String>,
}

impl World {
    fn of(deadlines: &[u64]) -> Self {
        World { deadlines: deadlines.iter().map(|at_us| (*at_us, false)).collect(), ..World::default() }
    }

    fn situation(&self) -> Situation {
        Situation {
            system_us: self.system_us,
            quiet_since_us: self.quiet_since_us,
            amid: None,
            rule: ExpiryRule::Reached,
            resets: self.resets,
            wall_ms: (self.at_us / 1000) as i64,
            room_us: Some(1_000_000),
        }
    }

    fn drive(&mut self, advance: &mut ClockAdvance) -> AdvanceProgress {
        match advance.resume(&self.situation()) {
            Opening::Advance => {}
            Opening::Stop(progress) => return progress,
            opening => panic!("{opening:?}"),
        }
        let mut event = AdvanceEvent::GoOn { is_joint: self.is_joint };
        loop {
            event = match advance.next(event) {
                AdvanceStep::ReadClock => AdvanceEvent::Read(self.system_us),
                AdvanceStep::FindDeadline => {
                    let first = self.deadlines.first().map(|(at_us, _)| at_us.saturating_sub(self.at_us));
                    AdvanceEvent::Found { in_us: first, wakes: self.wakes }
                }
                AdvanceStep::MoveBy(us) => {
                    self.at_us += us;
                    self.steps.push(format!("at {}", self.at_us));
                    AdvanceEvent::Done
                }
                AdvanceStep::Fire(_) => {
                    let (at_us, sends) = self.deadlines.remove(0);
                    self.wakes += u64::from(sends);
                    advance.see(Fired::Timeout(at_us));
                    self.steps.push("fire".to_owned());
                    AdvanceEvent::Fired { deadlines: 1, renewed: 0, has_served: false }
                }
                AdvanceStep::LeapOver(ms) => {
                    self.steps.push(format!("leap {ms}"));
                    AdvanceEvent::Done
                }
                AdvanceStep::RetryAfter(..) | AdvanceStep::Exchange => AdvanceEvent::Done,
                AdvanceStep::Stop(progress) => {
                    advance.stopped(Some(progress), (self.at_us / 1000) as i64);
                    return progress;
                }
            };
        }
    }
}

#[test]
fn each_deadline_fires_at_its_own_instant_of_an_advance() {
    let mut world = World::of(&[1000, 3000, 3000, 9000]);
    let mut advance = ClockAdvance::by_us(5000);
    assert_eq!(world.drive(&mut advance), AdvanceProgress::Done);
    assert_eq!(world.steps, ["at 1000", "fire", "at 3000", "fire", "fire", "at 5000"]);
    assert_eq!((advance.fired(), advance.wall_ms(Now::default())), (3, Ok(5)));
}

#[test]
fn an_advance_to_the_next_deadline_stops_at_its_instant() {
    let mut world = World::of(&[1000, 1000, 2000, 3000]);
    let mut advance = ClockAdvance::to_next(2);
    assert_eq!(world.drive(&mut advance), AdvanceProgress::Done);
    assert_eq!(world.steps, ["at 1000", "fire", "fire", "at 2000", "fire"]);
}

#[test]
fn an_advance_waits_for_silence_after_an_instant_with_output() {
    let mut world = World::of(&[1000, 2000]);
    world.deadlines[0].1 = true;
    let settle = Settle::new(Duration::from_millis(5), Duration::from_millis(100));
    let mut advance = ClockAdvance::by_us(4000).settling(Some(settle));
    assert_eq!(world.drive(&mut advance), AdvanceProgress::WaitUs(5000));
    (world.system_us, world.quiet_since_us) = (5000, 2000);
    assert_eq!(world.drive(&mut advance), AdvanceProgress::WaitUs(2000));
    assert_eq!(world.at_us, 1000);
    world.system_us = 7000;
    assert_eq!(world.drive(&mut advance), AdvanceProgress::Done);
    assert_eq!((world.at_us, advance.is_settled()), (4000, true));
}

#[test]
fn a_used_up_piece_stops_within_or_between_instants() {
    let piece = PieceBudget::LIMITED.left();
    let mut deadlines = vec![1000; piece + 1];
    deadlines.push(2000);
    let mut world = World::of(&deadlines);
    let mut advance = ClockAdvance::by_us(4000).in_pieces();
    assert_eq!(world.drive(&mut advance), AdvanceProgress::WaitUs(0));
    assert!(advance.is_amid() && world.deadlines.len() == 2);
    // The conductor holds the rule of the advance that has stopped.
    let situation = Situation { amid: Some(advance.rule()), ..world.situation() };
    assert!(matches!(advance.resume(&situation), Opening::Advance));
    assert_eq!(world.drive(&mut advance), AdvanceProgress::Done);
    assert_eq!((world.at_us, advance.fired()), (4000, piece as u64 + 2));

    let mut world = World::of(&[vec![1000; piece], vec![2000]].concat());
    let mut advance = ClockAdvance::by_us(4000).in_pieces();
    assert_eq!(world.drive(&mut advance), AdvanceProgress::WaitUs(0));
    assert!(!advance.is_amid() && world.at_us == 1000);
}

#[test]
fn a_joint_advance_pauses_when_a_piece_lasts_too_long() {
    let mut world = World { is_joint: true, ..World::of(&[1000, 2000]) };
    let mut advance = ClockAdvance::by_us(4000).in_pieces();
    let mut event = AdvanceEvent::GoOn { is_joint: true };
    let mut progress = None;
    while progress.is_none() {
        event = match advance.next(event) {
            // Each reading is a second after the last one.
            AdvanceStep::ReadClock => {
                world.system_us += 1_000_000;
                AdvanceEvent::Read(world.system_us)
            }
            AdvanceStep::FindDeadline => {
                let first = world.deadlines.first().map(|(at_us, _)| at_us - world.at_us);
                AdvanceEvent::Found { in_us: first, wakes: 0 }
            }
            AdvanceStep::MoveBy(us) => {
                world.at_us += us;
                AdvanceEvent::Done
            }
            AdvanceStep::Fire(_) => {
                world.deadlines.remove(0);
                AdvanceEvent::Fired { deadlines: 1, renewed: 0, has_served: false }
            }
            AdvanceStep::Stop(stopped) => {
                progress = Some(stopped);
                AdvanceEvent::Done
            }
            _ => AdvanceEvent::Done,
        };
    }
    assert_eq!((progress, world.at_us), (Some(AdvanceProgress::WaitUs(0)), 1000));
}

#[test]
fn a_clock_change_happens_after_the_current_instant() {
    let world = World::default();
    let mut advance = ClockAdvance::changing(ClockChange::Step(10));
    assert!(matches!(advance.resume(&world.situation()), Opening::FinishInstant(_)));
    let waits = advance.finished_instant(AdvanceProgress::WaitUs(0));
    assert!(matches!(waits, Opening::Stop(AdvanceProgress::WaitUs(0))));
    assert!(matches!(advance.resume(&world.situation()), Opening::FinishInstant(_)));
    let changes = advance.finished_instant(AdvanceProgress::Done);
    assert!(matches!(changes, Opening::Change(ClockChange::Step(10))));
    assert!(matches!(advance.changed(Ok(())), Opening::Advance));
}

#[test]
fn a_reset_ends_an_advance_and_the_range_of_the_clock_limits_it() {
    let mut world = World::of(&[1000]);
    let mut advance = ClockAdvance::by_us(4000).in_pieces();
    assert!(matches!(advance.resume(&world.situation()), Opening::Advance));
    world.resets = 1;
    assert_eq!(world.drive(&mut advance), AdvanceProgress::Done);
    assert_eq!((world.at_us, advance.fired()), (0, 0));

    let mut far = ClockAdvance::by_us(1_000_001);
    assert_eq!(World::default().drive(&mut far), AdvanceProgress::Done);
    assert_eq!(far.wall_ms(Now::default()), Err(ClockError));
}

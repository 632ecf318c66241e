//! A batch of readers that wait behind a writer, whose release lets them in together. Party 0 is the writer.
//!
//! The hand-off ends when the last reader holds the lock. Then all readers leave, the writer comes back, and the
//! readers queue behind it again. That is part of a turn, too.

use super::{Locking, Turn, hear, rest};
use crate::waiting::crowd::Crowd;
use std::io;
use std::time::{Duration, Instant};

const WRITER: usize = 0;

/// Measures one turn: the writer lets the readers in, and all parties return to their former states.
pub(super) fn turn(crowd: &mut Crowd, locking: &mut impl Locking, readers: usize) -> io::Result<Turn> {
    let turn = let_in(crowd, locking, readers)?;
    for who in 1..=readers {
        locking.release(crowd, who)?;
    }
    rest(crowd, locking)?;
    locking.join(crowd, WRITER)?;
    while hear(crowd, locking)? != Some(WRITER) {}
    for who in 1..=readers {
        locking.join(crowd, who)?;
    }
    rest(crowd, locking)?;
    Ok(turn)
}

/// Measures one release, until all readers have the lock and no party is in between.
fn let_in(crowd: &mut Crowd, locking: &mut impl Locking, readers: usize) -> io::Result<Turn> {
    let (woken, wakes) = (locking.wake_ups(), locking.messages_per_release());
    let begin = Instant::now();
    locking.release(crowd, WRITER)?;
    let (mut granted, mut grant) = (0, Duration::ZERO);
    while granted < readers || locking.busy() > 0 || locking.wake_ups() - woken < wakes {
        if hear(crowd, locking)?.is_some() {
            granted += 1;
            grant = begin.elapsed();
        }
    }
    Ok(Turn { grant, settled: begin.elapsed() })
}

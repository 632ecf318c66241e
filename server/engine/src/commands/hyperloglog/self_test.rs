//! The self-test of PFSELFTEST, on a HyperLogLog of its own.

use lockwheel_store::keyspace::Rng;
use lockwheel_store::values::hyperloglog::{Corrupted, REGISTERS, Sketch, SketchMut, no_registers};
use std::fmt;

/// The most bytes of sparse registers. Longer ones become dense.
const MAX_SPARSE_BYTES: usize = 3000;
/// The number of times that all registers are raised to random values.
const ROUNDS: usize = 10;
/// The number of elements that are added. This takes about 30 ms.
const ELEMENTS: u64 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// A register does not have the value that it was raised to.
    Register { index: usize, expected: u8, found: u8 },
    /// An estimate is too far from the truth.
    Estimate { estimate: u64, error: u64 },
    /// A string is no HyperLogLog any more, or is corrupted.
    Corrupted,
    /// A sparse and a dense HyperLogLog with the same elements do not agree.
    Disagreement,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Register { index, expected, found } => {
                write!(f, "TESTFAILED Register {index} should be {expected} but is {found}")
            }
            Failure::Estimate { estimate, error } => {
                write!(f, "TESTFAILED Too big error. card:{estimate} abserr:{error}")
            }
            Failure::Corrupted => f.write_str("TESTFAILED Corrupted HLL object detected"),
            Failure::Disagreement => f.write_str("TESTFAILED dense/sparse disagree"),
        }
    }
}

impl From<Corrupted> for Failure {
    fn from(_: Corrupted) -> Self {
        Failure::Corrupted
    }
}

/// Tests the registers and the estimates. Returns the first failure.
pub(super) fn run(seed: u64) -> Result<(), Failure> {
    let mut rng = Rng::new(seed);
    (0..ROUNDS).try_for_each(|_| check_registers(&mut rng))?;
    check_estimates(rng.next_u64())
}

fn check_registers(rng: &mut Rng) -> Result<(), Failure> {
    let mut bytes = SketchMut::empty();
    let mut sketch = of(&mut bytes)?;
    let (mut expected, mut found) = (no_registers(), no_registers());
    for (index, value) in expected.iter_mut().enumerate() {
        *value = rng.below(64) as u8;
        sketch.raise(index, *value)?;
    }
    Sketch::of(&bytes).ok_or(Failure::Corrupted)?.raise(&mut found)?;
    match (0..REGISTERS).find(|&index| expected[index] != found[index]) {
        Some(index) => Err(Failure::Register { index, expected: expected[index], found: found[index] }),
        None => Ok(()),
    }
}

fn check_estimates(seed: u64) -> Result<(), Failure> {
    let mut both = [SketchMut::empty(), SketchMut::empty()];
    of(&mut both[1])?.make_dense()?;
    let mut checkpoint = 1;
    for n in 1..=ELEMENTS {
        let element = (n ^ seed).to_le_bytes();
        let [sparse, dense] = &mut both;
        if of(sparse)?.add(&element)? != of(dense)?.add(&element)? {
            return Err(Failure::Disagreement);
        }
        if n == checkpoint {
            check_estimate(&both, n)?;
            checkpoint *= 10;
        }
    }
    Ok(())
}

/// Checks the estimates of both strings, to which `n` elements were added.
fn check_estimate([sparse, dense]: &[Vec<u8>; 2], n: u64) -> Result<(), Failure> {
    let estimate = cardinality(sparse)?;
    if estimate != cardinality(dense)? {
        return Err(Failure::Disagreement);
    }
    let relative_error = 1.04 / (REGISTERS as f64).sqrt();
    let error = estimate.abs_diff(n);
    if error > (relative_error * 6.0 * n as f64).ceil() as u64 {
        return Err(Failure::Estimate { estimate, error });
    }
    Ok(())
}

fn of(bytes: &mut Vec<u8>) -> Result<SketchMut<'_>, Corrupted> {
    SketchMut::of(bytes, MAX_SPARSE_BYTES).ok_or(Corrupted)
}

fn cardinality(bytes: &[u8]) -> Result<u64, Corrupted> {
    Ok(Sketch::of(bytes).ok_or(Corrupted)?.histogram()?.cardinality())
}

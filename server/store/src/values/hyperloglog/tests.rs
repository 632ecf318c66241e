//! Tests of the string against registers that are kept one by one.

use super::*;
use proptest::prelude::*;

const MAX_SPARSE_BYTES: usize = 3000;

/// The registers of a string, read one by one.
fn registers(bytes: &[u8]) -> Result<Registers, Corrupted> {
    let mut registers = no_registers();
    Sketch::of(bytes).ok_or(Corrupted)?.raise(&mut registers)?;
    Ok(registers)
}

/// A register and a value; registers are often near each other.
fn step() -> impl Strategy<Value = (usize, u8)> {
    let register = prop_oneof![0_usize..24, 16_360_usize..REGISTERS, 0_usize..REGISTERS];
    (register, prop_oneof![1_u8..4, 1_u8..=51])
}

proptest! {
    #[test]
    fn registers_are_raised(steps in prop::collection::vec(step(), 0..300), sparse_max in 0_usize..500) {
        let (mut bytes, mut model) = (SketchMut::empty(), no_registers());
        for (register, value) in steps {
            let mut sketch = SketchMut::of(&mut bytes, sparse_max).unwrap();
            prop_assert_eq!(sketch.raise(register, value), Ok(model[register] < value));
            model[register] = model[register].max(value);
        }
        prop_assert_eq!(registers(&bytes).unwrap(), model.clone());
        let sketch = Sketch::of(&bytes).unwrap();
        prop_assert!(sketch.layout() == Layout::Dense || bytes.len() <= sparse_max.max(18));
        prop_assert_eq!(sketch.histogram().unwrap(), Histogram::of(&model));
        let mut dense = bytes.clone();
        SketchMut::of(&mut dense, sparse_max).unwrap().make_dense().unwrap();
        prop_assert_eq!(registers(&dense).unwrap(), model.clone());
        prop_assert_eq!(Sketch::of(&dense).unwrap().histogram().unwrap(), Histogram::of(&model));
    }

    #[test]
    fn runs_are_found_eight_at_a_time(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), 0x80_u8..0x90, 0_u8..0x40], 0..80),
        register in 0_usize..4000,
    ) {
        let (mut before, mut at, mut first) = (None, 0, 0);
        let mut one_by_one = Err(Corrupted);
        for run in Runs::new(&bytes) {
            let is_cut = at + run.bytes() > bytes.len();
            if register < first + run.registers() {
                one_by_one = Ok(sparse::RunPosition { before, at, first, run });
                break;
            }
            if is_cut {
                break;
            }
            (before, at, first) = (Some(at), at + run.bytes(), first + run.registers());
        }
        prop_assert_eq!(sparse::find(&bytes, register), one_by_one);
    }

    /// No sequence of bytes causes a panic.
    #[test]
    fn corrupted_strings_are_detected(
        tail in prop::collection::vec(prop_oneof![any::<u8>(), Just(0x7f)], 0..60),
        elements in prop::collection::vec(any::<[u8; 2]>(), 1..20),
    ) {
        let mut bytes = SketchMut::empty();
        bytes.truncate(16);
        bytes.extend(tail);
        let is_whole = registers(&bytes).is_ok();
        // Such a run's second half is missing.
        let is_cut = Runs::new(&bytes[16..]).map(Run::bytes).sum::<usize>() > bytes.len() - 16;
        for element in elements {
            let before = bytes.clone();
            let mut sketch = SketchMut::of(&mut bytes, MAX_SPARSE_BYTES).unwrap();
            match sketch.add(&element) {
                Ok(_) => {}
                Err(Corrupted) => prop_assert!(!is_whole && bytes == before),
            }
        }
        prop_assert!(is_cut || registers(&bytes).is_ok() == is_whole);
    }
}

/// CVE-2025-32023: runs whose total number of registers is too large, and wraps around.
#[test]
fn cve_2025_32023_runs_of_too_many_registers_are_corrupted() {
    let mut bytes = SketchMut::empty();
    bytes.truncate(16);
    bytes.extend([0x7f, 0xff].repeat(132_072));
    bytes.push(0xff);
    let sketch = Sketch::of(&bytes).unwrap();
    assert_eq!(sketch.histogram(), Err(Corrupted));
    assert_eq!(sketch.raise(&mut no_registers()), Err(Corrupted));
    let mut sketch = SketchMut::of(&mut bytes, MAX_SPARSE_BYTES).unwrap();
    assert_eq!(sketch.make_dense(), Err(Corrupted));
    assert_eq!(sketch.raise(0, 51), Err(Corrupted));
}

#[test]
fn estimates_are_near_the_truth_at_every_size() {
    let mut bytes = SketchMut::empty();
    let (mut next, error) = (1_u64, 1.04 / (REGISTERS as f64).sqrt());
    for n in 1..=300_000_u64 {
        SketchMut::of(&mut bytes, MAX_SPARSE_BYTES).unwrap().add(&n.to_le_bytes()).unwrap();
        if n == next {
            let estimate = Sketch::of(&bytes).unwrap().histogram().unwrap().cardinality();
            assert!(estimate.abs_diff(n) as f64 <= (6.0 * error * n as f64).ceil(), "{estimate} of {n}");
            next += next / 2 + 1;
        }
    }
}

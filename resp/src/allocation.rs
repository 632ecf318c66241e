//! Memory whose size a client decides. If memory is short, the request fails and the process goes on.
//!
//! The standard library aborts the process when an allocation fails. The functions of this module either return an
//! error or unwind with [`OutOfMemory`], which the driver of the engine contains like a panic. The client is then
//! disconnected, and all other clients are served.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The size up to which copies are made without a check. A request does not determine such small sizes.
const LARGE: usize = 64 * 1024;
/// The size below which [`check`] does nothing.
const CHECKED_MIN: usize = 1 << 20;
/// The least memory that must be left when a large buffer grows, in bytes. It is for small blocks, which are not
/// checked.
const LEFT_FREE: usize = 8 << 20;

/// An allocation that failed; also the payload of the unwinding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// The size of the allocation, in bytes.
    pub bytes: usize,
}

impl OutOfMemory {
    /// Unwinds, which ends the request that the memory was for. No panic is reported.
    #[cold]
    pub fn unwind(self) -> ! {
        resume_unwind(Box::new(self))
    }
}

/// Makes room for `more` elements behind those of `buffer`. Unwinds if memory is short.
#[inline]
pub fn reserve<T>(buffer: &mut Vec<T>, more: usize) {
    if buffer.capacity() - buffer.len() < more {
        grow(buffer, more);
    }
}

#[cold]
fn grow<T>(buffer: &mut Vec<T>, more: usize) {
    try_reserve(buffer, more).unwrap_or_else(|error| error.unwind());
}

/// Makes room for `more` elements. The buffer grows as vectors do, or by an eighth of the elements if memory for that
/// is short, or exactly. Growing to n elements moves O(n) of them, even if hardly any memory is left.
///
/// # Errors
/// Returns the size if memory is short, or hardly any would be left. The buffer is unchanged then.
#[inline]
pub fn try_reserve<T>(buffer: &mut Vec<T>, more: usize) -> Result<(), OutOfMemory> {
    if buffer.capacity() - buffer.len() >= more { Ok(()) } else { try_grow(buffer, more, check_left) }
}

/// Makes room in a buffer that lacks it. If `check` reports that hardly any memory is left, the room is given back.
/// That may move the whole buffer, so the next attempt is a step in proportion to the buffer.
#[cold]
fn try_grow<T>(
    buffer: &mut Vec<T>,
    more: usize,
    mut check: impl FnMut() -> Result<(), OutOfMemory>,
) -> Result<(), OutOfMemory> {
    let before = buffer.capacity();
    let mut leaves_enough = |buffer: &mut Vec<T>| {
        let checked = if buffer.capacity() * size_of::<T>() > LARGE { check() } else { Ok(()) };
        checked.inspect_err(|_| buffer.shrink_to(before))
    };
    if buffer.try_reserve(more).is_ok() && leaves_enough(buffer).is_ok() {
        return Ok(());
    }
    let step = more.max(buffer.len() / 8);
    if buffer.try_reserve_exact(step).is_err() && buffer.try_reserve_exact(more).is_err() {
        return Err(OutOfMemory { bytes: more.saturating_mul(size_of::<T>()) });
    }
    leaves_enough(buffer)
}

/// Checks that room is left for small blocks, which are not checked themselves. For code that makes an unbounded number
/// of small blocks. O(1) beside the allocator's work.
///
/// # Errors
/// Returns the size of that room if it is not left.
#[cold]
pub fn check_left() -> Result<(), OutOfMemory> {
    try_allocate(LEFT_FREE)
}

/// Gives spare room back, unless memory to move a large buffer is short.
pub fn shrink<T>(buffer: &mut Vec<T>) {
    shrink_to(buffer, 0);
}

/// Gives back the room for more than `capacity` elements, unless memory to move a large buffer is short.
pub fn shrink_to<T>(buffer: &mut Vec<T>, capacity: usize) {
    if check_copies(capacity.max(buffer.len()) * size_of::<T>()).is_ok() {
        buffer.shrink_to(capacity);
    }
}

/// Appends an element. Unwinds if memory is short.
#[inline]
pub fn push<T>(buffer: &mut Vec<T>, element: T) {
    reserve(buffer, 1);
    buffer.push(element);
}

/// Collects elements. Unwinds if memory is short.
pub fn collect<T>(elements: impl Iterator<Item = T>) -> Vec<T> {
    let mut collected = Vec::new();
    reserve_exact(&mut collected, elements.size_hint().0);
    elements.for_each(|element| push(&mut collected, element));
    collected
}

/// A count of the small blocks of a large result under construction, which are not checked themselves.
#[derive(Debug, Default)]
pub struct SmallBlocks {
    unchecked: usize,
}

impl SmallBlocks {
    /// Counts an element of `bytes` bytes, with the structures that index it. Unwinds if hardly any memory is left.
    #[inline]
    pub fn count(&mut self, bytes: usize) {
        /// Bytes of the blocks around an element.
        const AROUND: usize = 64;
        self.unchecked += bytes + AROUND;
        if self.unchecked >= LEFT_FREE / 2 {
            self.unchecked = 0;
            check_left().unwrap_or_else(|error| error.unwind());
        }
    }
}

/// Makes room for exactly `more` elements. Unwinds if memory is short.
pub fn reserve_exact<T>(buffer: &mut Vec<T>, more: usize) {
    if buffer.try_reserve_exact(more).is_err() {
        OutOfMemory { bytes: more.saturating_mul(size_of::<T>()) }.unwind();
    }
}

/// Appends bytes. Unwinds if memory is short.
#[inline]
pub fn append(buffer: &mut Vec<u8>, bytes: &[u8]) {
    if buffer.capacity() - buffer.len() >= bytes.len() {
        buffer.extend_from_slice(bytes);
    } else {
        append_growing(buffer, bytes);
    }
}

#[cold]
fn append_growing(buffer: &mut Vec<u8>, bytes: &[u8]) {
    grow(buffer, bytes.len());
    buffer.extend_from_slice(bytes);
}

/// A copy of the bytes, in a block of exactly their length. Unwinds if memory for a large copy is short.
#[inline]
#[must_use]
pub fn copy(bytes: &[u8]) -> Box<[u8]> {
    if bytes.len() <= LARGE {
        bytes.into()
    } else {
        with_room(bytes.len(), |copy| copy.extend_from_slice(bytes))
    }
}

/// A copy of the bytes, in a block of exactly their length.
///
/// # Errors
/// Returns the size if memory for a large copy is short.
#[inline]
pub fn try_copy(bytes: &[u8]) -> Result<Box<[u8]>, OutOfMemory> {
    check_copies(bytes.len()).map(|()| bytes.into())
}

#[cold]
fn with_room(len: usize, fill: impl FnOnce(&mut Vec<u8>)) -> Box<[u8]> {
    let mut bytes = try_with_capacity(len).unwrap_or_else(|error| error.unwind());
    fill(&mut bytes);
    bytes.into_boxed_slice()
}

/// A buffer of zero bytes. Unwinds if memory for a large buffer is short.
#[inline]
#[must_use]
pub fn zeros(len: usize) -> Vec<u8> {
    if len > LARGE {
        try_allocate(len).unwrap_or_else(|error| error.unwind());
    }
    vec![0; len]
}

/// An empty buffer with room for `capacity` bytes.
///
/// # Errors
/// Returns the size if memory is short.
pub fn try_with_capacity(capacity: usize) -> Result<Vec<u8>, OutOfMemory> {
    let mut bytes = Vec::new();
    match bytes.try_reserve_exact(capacity) {
        Ok(()) => Ok(bytes),
        Err(_) => Err(OutOfMemory { bytes: capacity }),
    }
}

/// Checks that a block of `bytes` bytes could be allocated now. Sizes below a megabyte are not checked. O(1) beside the
/// allocator's work: nothing is written.
///
/// # Errors
/// Returns the size if memory is short.
#[inline]
pub fn check(bytes: usize) -> Result<(), OutOfMemory> {
    if bytes < CHECKED_MIN { Ok(()) } else { try_allocate(bytes) }
}

/// Checks that copies of `bytes` bytes together could be allocated now. Unlike [`check`], this covers every size for
/// which [`copy`] unwinds. So an element that is removed from one place to be copied to another is not lost between
/// them.
///
/// # Errors
/// Returns the size if memory is short.
#[inline]
pub fn check_copies(bytes: usize) -> Result<(), OutOfMemory> {
    // Includes some room for the blocks of tables.
    if bytes <= LARGE { Ok(()) } else { try_allocate(bytes.saturating_add(LARGE)) }
}

#[cold]
fn try_allocate(bytes: usize) -> Result<(), OutOfMemory> {
    // The allocation must not be optimised away.
    std::hint::black_box(try_with_capacity(bytes)).map(drop)
}

/// Does `work` and catches [`OutOfMemory`]. `work` must change nothing that outlives it.
///
/// # Errors
/// Returns the failed allocation.
pub fn contain<T>(work: impl FnOnce() -> T) -> Result<T, OutOfMemory> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| match panic.downcast::<OutOfMemory>() {
        Ok(error) => *error,
        Err(panic) => resume_unwind(panic),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_fit_are_allocated() {
        assert_eq!(&*copy(b"text"), b"text");
        assert_eq!(copy(&[7; LARGE + 1]).len(), LARGE + 1);
        assert_eq!(zeros(LARGE + 1), vec![0; LARGE + 1]);
        let mut buffer = b"a".to_vec();
        append(&mut buffer, &[b'b'; 100]);
        assert_eq!((buffer.len(), check(1 << 20)), (101, Ok(())));
        assert_eq!((check_copies(LARGE), check_copies(LARGE + 1)), (Ok(()), Ok(())));
        assert_eq!(check_left(), Ok(()));
        assert_eq!(collect((0..100).filter(|n| n % 30 == 0)), [0, 30, 60, 90]);
        shrink(&mut buffer);
        assert_eq!(buffer.capacity(), buffer.len());
    }

    #[test]
    fn a_buffer_that_may_not_grow_keeps_its_capacity() {
        let error = Err(OutOfMemory { bytes: LEFT_FREE });
        let mut buffer = copy(&[7; 2 * LARGE]).into_vec();
        assert_eq!(try_grow(&mut buffer, 10, || error), error);
        assert_eq!((buffer.capacity(), &*buffer), (2 * LARGE, &[7; 2 * LARGE][..]));
    }

    #[test]
    fn a_buffer_that_may_not_double_grows_in_few_steps() {
        let mut buffer = copy(&[7; 2 * LARGE]).into_vec();
        let mut doublings = 0;
        while buffer.len() < 4 * LARGE {
            if buffer.capacity() - buffer.len() < 10 {
                // Each doubling leaves too little and is given back. Each smaller step leaves enough.
                let mut checks = [Err(OutOfMemory { bytes: LEFT_FREE }), Ok(())].into_iter();
                let grown = try_grow(&mut buffer, 10, || checks.next().unwrap_or(Ok(())));
                assert_eq!((grown, checks.next()), (Ok(()), None));
                doublings += 1;
            }
            buffer.extend_from_slice(&[7; 10]);
        }
        assert!(doublings <= 6, "{doublings}");
    }

    #[test]
    fn sizes_that_do_not_fit_unwind_or_are_errors() {
        const FAR_TOO_MUCH: usize = isize::MAX as usize;
        assert_eq!(check(FAR_TOO_MUCH), Err(OutOfMemory { bytes: FAR_TOO_MUCH }));
        assert!(check_copies(FAR_TOO_MUCH).is_err());
        let mut buffer = b"kept".to_vec();
        let error = contain(|| reserve(&mut buffer, FAR_TOO_MUCH));
        assert_eq!(error, Err(OutOfMemory { bytes: FAR_TOO_MUCH }));
        assert_eq!(buffer, b"kept");
        assert!(contain(|| zeros(FAR_TOO_MUCH)).is_err());
        assert_eq!(contain(|| 1), Ok(1));
    }
}

//! The size that an allocator gives a block.

/// Larger blocks are whole pages of the system.
const LARGE: usize = 14 * 1024;

/// The bytes that an allocation of `bytes` bytes takes: they are rounded up as in jemalloc, to multiples of 16 up to
/// 128, to a quarter of a power of two up to 14 KiB, to pages above. Other allocators differ little. O(1).
#[must_use]
#[inline]
pub const fn block(bytes: usize) -> usize {
    let step = match bytes {
        9..=128 => 16,
        0..=8 => 8,
        129..=LARGE => 1 << ((bytes - 1).ilog2() - 2),
        _ => 4096,
    };
    (bytes + (step - 1)) & !(step - 1)
}

/// The bytes that the buffer of a vector takes. O(1).
#[must_use]
#[inline]
pub const fn of_vec<T>(vec: &Vec<T>) -> usize {
    block(vec.capacity() * size_of::<T>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `malloc_usable_size` returns under jemalloc.
    #[test]
    fn sizes_are_those_of_the_allocator() {
        let sizes = [0, 1, 8, 9, 17, 128, 129, 160, 161, 256, 257, 1025, 10_003].map(block);
        let classes = [0, 8, 8, 16, 32, 128, 160, 160, 192, 256, 320, 1280, 10_240];
        assert_eq!(sizes, classes);
        assert_eq!([14_336, 14_337, 16_385, 5_000_000].map(block), [14_336, 16_384, 20_480, 5_001_216]);
    }

    #[test]
    fn a_vector_takes_what_its_capacity_does() {
        assert_eq!(of_vec(&Vec::<u64>::new()), 0);
        assert_eq!(of_vec(&Vec::<u64>::with_capacity(3)), 32);
    }
}

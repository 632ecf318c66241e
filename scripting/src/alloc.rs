//! The interpreter's memory: counted and limited, with a free list of small blocks.

use lockwheel_lua_sys::IS_SANITIZED;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error, realloc};
use std::ffi::c_void;
use std::ptr::{self, NonNull};

/// The alignment of blocks.
const ALIGN: usize = 16;
/// The unit of block sizes, in bytes. A sanitizer needs the exact end of each block.
const GRAIN: usize = if IS_SANITIZED { 1 } else { ALIGN };
/// The size up to which blocks are kept when freed. A sanitizer must see them freed.
const SMALL: usize = if IS_SANITIZED { 0 } else { 512 };
const CLASSES: usize = SMALL / GRAIN;
/// The most bytes of kept blocks in all: the garbage of a few thousand small scripts between two collections.
const MAX_KEPT: usize = 1 << 20;

/// A freed block. Its first bytes link to the next block of its size.
struct Kept {
    next: Option<NonNull<Kept>>,
}

/// An allocator for one interpreter.
///
/// Measured with the scripts of a lock: keeping small blocks saves a tenth of a script's time compared to the C
/// library's allocator.
pub(crate) struct Alloc {
    /// The limit of the bytes in use; `usize::MAX` while the limit is suspended.
    ceiling: usize,
    limit: usize,
    used: usize,
    kept: usize,
    free: [Option<NonNull<Kept>>; CLASSES],
}

impl Alloc {
    /// Makes an allocator whose limit, in bytes, is suspended until the first [`resume`](Alloc::resume).
    pub(crate) fn new(limit: usize) -> Alloc {
        Alloc { ceiling: usize::MAX, limit, used: 0, kept: 0, free: [None; CLASSES] }
    }

    /// The bytes in use, without kept blocks.
    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// Suspends the limit until [`resume`](Alloc::resume).
    pub(crate) fn suspend(&mut self) {
        self.ceiling = usize::MAX;
    }

    /// Enforces the limit again. Returns false if it is exceeded already.
    pub(crate) fn resume(&mut self) -> bool {
        self.ceiling = self.limit;
        self.used <= self.limit
    }

    /// Whether `len` bytes more would be within the limit.
    pub(crate) fn has_room(&self, len: usize) -> bool {
        self.used.checked_add(len).is_some_and(|used| used <= self.limit)
    }

    /// Frees the kept blocks.
    pub(crate) fn trim(&mut self) {
        for class in 0..CLASSES {
            while let Some(block) = self.free[class] {
                // SAFETY: a kept block is one that `obtain` made with this class' layout and that is unused.
                unsafe {
                    self.free[class] = block.as_ref().next;
                    dealloc(block.as_ptr().cast(), layout((class + 1) * GRAIN));
                }
            }
        }
        self.kept = 0;
    }

    /// The allocation function that Lua calls; `ud` points to an `Alloc`.
    ///
    /// # Safety
    ///
    /// `ud` must point to the `Alloc` that made `block`, of `old` bytes (null and 0 for none). Nothing else may use the
    /// `Alloc` meanwhile.
    pub(crate) unsafe extern "C" fn call(
        ud: *mut c_void,
        block: *mut c_void,
        old: usize,
        new: usize,
    ) -> *mut c_void {
        // SAFETY: `ud` is the `Alloc` that `lua_newstate` was given, and Lua passes it blocks of its own with their
        // sizes.
        unsafe {
            let alloc = &mut *ud.cast::<Alloc>();
            if old == 0 && (1..=SMALL).contains(&new) {
                alloc.small(new).cast()
            } else if new == 0 && (1..=SMALL).contains(&old) {
                let size = rounded(old);
                alloc.used -= size;
                alloc.release(block.cast(), size);
                ptr::null_mut()
            } else {
                alloc.change(block.cast(), old, new).cast()
            }
        }
    }

    /// A new small block of `size` bytes, mostly a kept one.
    ///
    /// # Safety
    ///
    /// The size must be small, and not 0.
    #[inline(always)]
    unsafe fn small(&mut self, size: usize) -> *mut u8 {
        let size = rounded(size);
        let used = self.used + size;
        if used > self.ceiling {
            return ptr::null_mut();
        }
        // SAFETY: it is a multiple of the grain, and not 0.
        let block = unsafe { self.obtain(size) };
        if !block.is_null() {
            self.used = used;
        }
        block
    }

    /// # Safety
    ///
    /// See [`call`](Alloc::call).
    unsafe fn change(&mut self, block: *mut u8, old: usize, new: usize) -> *mut u8 {
        let (old, wanted) = (rounded(old), rounded(new));
        if wanted < new || (wanted > old && wanted - old > self.ceiling.saturating_sub(self.used)) {
            return ptr::null_mut();
        }
        if old == wanted {
            return block;
        }
        // SAFETY: `block` has `old` bytes, made by `obtain` or `realloc` with that layout.
        unsafe {
            let moved = if old > SMALL && wanted > SMALL {
                let moved = realloc(block, layout(old), wanted);
                self.checked(moved, wanted)
            } else {
                let moved = if wanted == 0 { ptr::null_mut() } else { self.obtain(wanted) };
                if old != 0 && (wanted == 0 || !moved.is_null()) {
                    if wanted != 0 {
                        ptr::copy_nonoverlapping(block, moved, old.min(wanted));
                    }
                    self.release(block, old);
                }
                moved
            };
            if !moved.is_null() || wanted == 0 {
                self.used = self.used - old + wanted;
            }
            moved
        }
    }

    /// # Safety
    ///
    /// `size` must be a multiple of the grain, and not 0.
    unsafe fn obtain(&mut self, size: usize) -> *mut u8 {
        if size <= SMALL {
            let class = size / GRAIN - 1;
            if let Some(block) = self.free[class] {
                // SAFETY: a kept block holds a link, and is used for nothing else.
                self.free[class] = unsafe { block.as_ref().next };
                self.kept -= size;
                return block.as_ptr().cast();
            }
        }
        // SAFETY: the size is not 0.
        let block = unsafe { alloc(layout(size)) };
        self.checked(block, size)
    }

    /// # Safety
    ///
    /// `block` must have been made with `layout(size)`, and be no longer used.
    unsafe fn release(&mut self, block: *mut u8, size: usize) {
        if size <= SMALL && self.kept + size <= MAX_KEPT {
            let class = size / GRAIN - 1;
            let kept = block.cast::<Kept>();
            // SAFETY: a block has space for a link, is aligned for one, and is ours.
            unsafe { kept.write(Kept { next: self.free[class] }) };
            self.free[class] = NonNull::new(kept);
            self.kept += size;
        } else {
            // SAFETY: the block was made by `obtain` with this very layout, and its user has given it back.
            unsafe { dealloc(block, layout(size)) };
        }
    }

    /// Checks the result of an allocation. While the limit is suspended no allocation may fail, because Lua's error
    /// would not be caught. Then the process is out of memory, and ends as it does when Rust's own allocation fails.
    fn checked(&self, block: *mut u8, size: usize) -> *mut u8 {
        if block.is_null() && self.ceiling == usize::MAX {
            handle_alloc_error(layout(size));
        }
        block
    }
}

impl Drop for Alloc {
    fn drop(&mut self) {
        self.trim();
    }
}

fn rounded(size: usize) -> usize {
    size.checked_add(GRAIN - 1).map_or(0, |size| size & !(GRAIN - 1))
}

fn layout(size: usize) -> Layout {
    // SAFETY: the grain is a power of two, and `rounded` and the limit of address space keep sizes in range: a size
    // is at most what `change` was asked for, and a request beyond `isize::MAX` fails before it comes here.
    unsafe { Layout::from_size_align_unchecked(size.min(isize::MAX as usize & !(ALIGN - 1)), ALIGN) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(alloc: &mut Alloc, block: *mut u8, old: usize, new: usize) -> *mut u8 {
        // SAFETY: the tests pass blocks back as they came.
        unsafe { alloc.change(block, old, new) }
    }

    #[test]
    fn counts_and_limits() {
        let mut alloc = Alloc::new(1000);
        let block = change(&mut alloc, ptr::null_mut(), 0, 2000);
        assert_eq!(alloc.used(), 2000);
        assert!(!alloc.resume());
        assert!(change(&mut alloc, ptr::null_mut(), 0, 1).is_null());
        let block = change(&mut alloc, block, 2000, 100);
        assert_eq!(alloc.used(), rounded(100));
        let second = change(&mut alloc, ptr::null_mut(), 0, 880);
        assert!(!second.is_null());
        assert!(change(&mut alloc, ptr::null_mut(), 0, 24).is_null());
        assert!(change(&mut alloc, second, 880, usize::MAX - 3).is_null());
        assert_eq!(alloc.used(), rounded(100) + 880);
        change(&mut alloc, block, 100, 0);
        change(&mut alloc, second, 880, 0);
        assert_eq!(alloc.used(), 0);
    }

    proptest::proptest! {
        #[test]
        fn blocks_keep_their_bytes(steps in proptest::collection::vec((0_usize..8, 0_usize..2000), 1..200)) {
            let mut alloc = Alloc::new(usize::MAX - 1);
            let mut blocks = vec![(ptr::null_mut::<u8>(), 0_usize); 8];
            for (index, new) in steps {
                let (block, old) = blocks[index];
                let fill = index as u8 + 1;
                let block = change(&mut alloc, block, old, new);
                // SAFETY: the block has `new` bytes.
                unsafe {
                    for at in 0..old.min(new) {
                        proptest::prop_assert_eq!(*block.add(at), fill);
                    }
                    if new != 0 {
                        block.write_bytes(fill, new);
                    }
                }
                blocks[index] = (block, new);
            }
            let used: usize = blocks.iter().map(|(_, size)| rounded(*size)).sum();
            proptest::prop_assert_eq!(alloc.used(), used);
            for (block, size) in blocks {
                change(&mut alloc, block, size, 0);
            }
            proptest::prop_assert_eq!(alloc.used(), 0);
            proptest::prop_assert!(alloc.kept <= MAX_KEPT);
        }
    }
}

//! The data of the functions that scripts call, besides the interpreter: one context for each interpreter, at a fixed
//! address.

use crate::alloc::Alloc;
use crate::control::ScriptControl;
use crate::ffi::*;
use crate::functions::registered::Loading;
use crate::host::Host;
use crate::options::Options;
use crate::random::SharedRandom;
use lockwheel_resp::Protocol;
use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

/// The number of polls between two readings of the host's clock in a slow script, while polls are cheap. A cheap poll
/// takes some ten instructions, a reading a hundred.
const CHEAP_POLLS: u32 = 16;
/// The most microseconds that this many polls may take to count as cheap. Otherwise each poll reads the clock.
const CHEAP_US: u64 = 100;
/// The microseconds between two calls of `Host::on_slow`.
const SERVE_EVERY_US: u64 = 1000;
/// The most bytes of scratch space that are kept after a script.
const KEPT_SCRATCH: usize = 1 << 16;

/// The context of an interpreter. It begins with the allocator, so that the interpreter's one pointer leads to both.
///
/// The context is shared by reference only, and changed through cells, because the interpreter calls the allocator from
/// within calls made from here. An error raised in the interpreter jumps over frames, so no borrow guard is ever kept.
#[repr(C)]
pub(crate) struct Context {
    alloc: UnsafeCell<Alloc>,
    pub(crate) control: Arc<ScriptControl>,
    /// Whether error texts are those before Redis 7.0.
    pub(crate) before_7: bool,
    /// The host of the running script.
    host: Cell<Option<NonNull<dyn Host>>>,
    /// The protocol that `redis.setresp` has chosen.
    pub(crate) protocol: Cell<Protocol>,
    pub(crate) random: SharedRandom,
    /// The functions that the library being loaded has registered.
    pub(crate) loading: Cell<Option<Box<Loading>>>,
    /// The instant at which the run must end, by the host's clock, and whether it has ended the run.
    until_us: Cell<u64>,
    expired: Cell<bool>,
    /// Scratch space, taken out while it is used.
    pub(crate) text: Cell<Vec<u8>>,
    /// Bytes of buffers of library functions, in addition to the interpreter's memory.
    buffered: Cell<usize>,
    /// The host's panic, kept until no Lua frame is left to unwind through.
    panic: Cell<Option<Box<dyn Any + Send>>>,
    /// Polls left until the next reading of the clock, for a slow script.
    polls: Cell<u32>,
    /// The last reading of the clock, and the instant at which the host was last asked to serve others, perhaps by an
    /// earlier script.
    looked: Cell<u64>,
    served: Cell<u64>,
}

/// An argument of a command in the patched interpreter's form: bytes of a Lua string, or of the scratch text.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Argument {
    start: *const u8,
    len: usize,
}

impl Argument {
    pub(crate) fn of(bytes: &[u8]) -> Argument {
        Argument { start: bytes.as_ptr(), len: bytes.len() }
    }

    /// Whether the argument is a number whose text has not been written.
    pub(crate) fn is_number(self) -> bool {
        self.start.is_null()
    }

    /// # Safety
    ///
    /// The bytes that it was made of must live for `'a`.
    pub(crate) unsafe fn bytes<'a>(self) -> &'a [u8] {
        // SAFETY: start and length are those of a slice of bytes that lives for `'a`; never called for a number.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl Context {
    pub(crate) fn new(options: Options, control: Arc<ScriptControl>, random: SharedRandom) -> Context {
        Context {
            alloc: UnsafeCell::new(Alloc::new(options.memory_limit)),
            control,
            before_7: options.redis_version.starts_with("6."),
            host: Cell::new(None),
            protocol: Cell::default(),
            random,
            loading: Cell::default(),
            until_us: Cell::new(u64::MAX),
            expired: Cell::new(false),
            text: Cell::default(),
            buffered: Cell::new(0),
            panic: Cell::new(None),
            polls: Cell::new(0),
            looked: Cell::new(0),
            served: Cell::new(0),
        }
    }

    /// The context of a state, or of one of its coroutines.
    ///
    /// # Safety
    ///
    /// The state must have been made with a context at its allocator's pointer, which lives for `'a`.
    pub(crate) unsafe fn of<'a>(state: *mut lua_State) -> &'a Context {
        let mut context = std::ptr::null_mut();
        // SAFETY: the allocator's pointer is that of the context, which begins with its allocator, is never moved, and
        // is only ever shared.
        unsafe {
            lua_getallocf(state, &mut context);
            &*context.cast::<Context>()
        }
    }

    fn with_alloc<T>(&self, change: impl FnOnce(&mut Alloc) -> T) -> T {
        // SAFETY: only one thread has the context, and `change` calls neither this nor the interpreter.
        change(unsafe { &mut *self.alloc.get() })
    }

    /// Suspends the limit until [`limit_memory`](Context::limit_memory): no error of memory is raised.
    pub(crate) fn free_memory(&self) {
        self.with_alloc(Alloc::suspend);
    }

    /// Enforces the limit of memory. Returns false if it is exceeded already.
    pub(crate) fn limit_memory(&self) -> bool {
        self.with_alloc(Alloc::resume)
    }

    /// Bytes of memory of the interpreter.
    pub(crate) fn memory_used(&self) -> usize {
        self.with_alloc(|alloc| alloc.used())
    }

    /// Frees memory that was kept for the next script.
    pub(crate) fn trim_memory(&self) {
        self.with_alloc(Alloc::trim);
    }

    /// Whether `len` more bytes are within the limit, buffers included.
    #[inline]
    pub(crate) fn has_room(&self, len: usize) -> bool {
        self.buffered.get().checked_add(len).is_some_and(|len| self.with_alloc(|alloc| alloc.has_room(len)))
    }

    /// Counts `len` more bytes of a buffer, unless they exceed the limit; returns whether it did.
    #[inline]
    pub(crate) fn take_room(&self, len: usize) -> bool {
        let has_room = self.has_room(len);
        if has_room {
            self.buffered.set(self.buffered.get() + len);
        }
        has_room
    }

    /// Subtracts `len` counted bytes of a buffer.
    pub(crate) fn give_room_back(&self, len: usize) {
        self.buffered.set(self.buffered.get() - len);
    }

    /// Sets the host of the script that is about to run.
    ///
    /// # Safety
    ///
    /// [`leave`](Context::leave) must be called before the host's borrow ends.
    pub(crate) unsafe fn enter(&self, host: &mut dyn Host) {
        // SAFETY: only the lifetime changes, and `leave` ends it in time.
        let host = unsafe { std::mem::transmute::<&mut dyn Host, &'static mut dyn Host>(host) };
        self.host.set(Some(NonNull::from(host)));
        self.protocol.set(Protocol::Resp2);
    }

    /// Sets the instant of the host's clock at which the run ends. The interpreter checks it when it polls.
    pub(crate) fn expire_at(&self, until_us: u64) {
        self.until_us.set(until_us);
    }

    /// Whether the run has been ended because its time was over.
    pub(crate) fn has_expired(&self) -> bool {
        self.expired.get()
    }

    /// Clears the host. If it panicked, the caller must resume the panic.
    pub(crate) fn leave(&self) -> Option<Box<dyn Any + Send>> {
        self.host.set(None);
        self.until_us.set(u64::MAX);
        self.expired.set(false);
        self.buffered.set(0);
        let mut text = self.text.take();
        if text.capacity() > KEPT_SCRATCH {
            text = Vec::new();
        }
        self.text.set(text);
        self.panic.take()
    }

    /// Calls the host. Returns `None` if it panicked. The script must then end by an error that it cannot catch.
    pub(crate) fn with_host<T>(&self, call: impl FnOnce(&mut dyn Host) -> T) -> Option<T> {
        let mut host = self.host.get()?;
        // SAFETY: between `enter` and `leave` the host is borrowed for this context alone, and a host cannot call a
        // script of the interpreter that calls it.
        let host = unsafe { host.as_mut() };
        match catch_unwind(AssertUnwindSafe(|| call(host))) {
            Ok(result) => Some(result),
            Err(panic) => {
                self.keep_panic(panic);
                None
            }
        }
    }

    /// Keeps a panic until the script has ended. The script must end now, by an error that it cannot catch.
    #[cold]
    pub(crate) fn keep_panic(&self, panic: Box<dyn Any + Send>) {
        self.panic.set(Some(panic));
    }

    /// Polls on behalf of the interpreter, which calls this while it is interrupted. The result 1 ends the script.
    /// `context` is the context.
    ///
    /// # Safety
    ///
    /// See [`of`](Context::of).
    pub(crate) unsafe extern "C-unwind" fn interrupted(context: *mut c_void) -> c_int {
        // SAFETY: it is the pointer that `lua_setinterrupt` was given: this context's, which outlives the state.
        c_int::from(unsafe { &*context.cast::<Context>() }.poll())
    }

    /// Whether the script must end. To be called at each of many small steps, in a script that was signalled.
    #[cold]
    pub(crate) fn poll(&self) -> bool {
        if self.control.is_killed() {
            return true;
        }
        let polls = self.polls.get();
        if polls > 1 {
            self.polls.set(polls - 1);
            return false;
        }
        self.look()
    }

    /// Whether the script must end. To be called after a step that may have taken long. In a slow script it reads the
    /// clock.
    #[inline]
    pub(crate) fn is_ended(&self) -> bool {
        self.control.is_signalled() && self.look()
    }

    /// Lets the host of a slow script serve others, if that is due. Returns whether the script must end.
    #[cold]
    pub(crate) fn look(&self) -> bool {
        if self.control.is_killed() {
            return true;
        }
        let looked = self.with_host(|host| {
            let now = host.clock_us();
            let dear = now.saturating_sub(self.looked.get()) > CHEAP_US;
            self.polls.set(if dear { 1 } else { CHEAP_POLLS });
            self.looked.set(now);
            if now >= self.until_us.get() {
                self.expired.set(true);
            }
            if now.saturating_sub(self.served.get()) >= SERVE_EVERY_US {
                host.on_slow();
                let now = host.clock_us();
                self.looked.set(now);
                self.served.set(now);
            }
        });
        looked.is_none() || self.control.is_killed() || self.expired.get()
    }
}

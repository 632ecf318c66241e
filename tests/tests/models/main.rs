//! The places where threads meet without the engine's lock, in every interleaving of two preemptions, with all
//! reorderings that the memory model allows.
//!
//! The two files are those of the server, compiled with another set of atomics and locks. The test has no harness,
//! because the model's atomics exist in a model only. The files' own tests are left out.

#[path = "../../../scripting/src/control.rs"]
#[expect(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "the interpreter, the crate's users and the file's own tests are not here"
)]
mod control;
#[path = "../../../server/src/net/deferred.rs"]
mod deferred;
mod sync;

use control::{EntryKind, KillError, ScriptControl};
use deferred::Deferred;
use loom::model::Builder;
use loom::sync::Arc;
use loom::thread;

fn main() {
    let models: &[(&str, fn())] = &[
        ("deferred_work_is_done_once_and_never_lost", deferred_work_is_done_once_and_never_lost),
        ("a_request_for_notification_is_seen_at_unlock", a_request_for_notification_is_seen_at_unlock),
        ("a_kill_that_was_confirmed_lets_no_write_through", a_kill_that_was_confirmed_lets_no_write_through),
        ("a_kill_that_was_confirmed_takes_the_result_back", a_kill_that_was_confirmed_takes_the_result_back),
        ("a_signal_never_hits_the_next_script", a_signal_never_hits_the_next_script),
        ("a_kill_of_scripts_never_hits_a_function", a_kill_of_scripts_never_hits_a_function),
    ];
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    for (name, model) in models {
        if wanted.is_empty() || wanted.iter().any(|wanted| name.contains(wanted.as_str())) {
            let mut every = Builder::new();
            // More than this in one run are variations of known interleavings.
            every.preemption_bound = Some(2);
            every.check(*model);
            #[expect(clippy::print_stdout, reason = "what the harness would say")]
            {
                println!("test {name} ... ok");
            }
        }
    }
}

/// The work that was done.
type Done = Vec<usize>;

fn unlock(engine: &Deferred<Done, usize>, held: sync::MutexGuard<'_, Done>) {
    engine.unlock(held, |done| {
        if engine.is_asked() {
            engine.run_asked(done, Vec::push);
        }
    });
}

fn deferred_work_is_done_once_and_never_lost() {
    let engine = Arc::new(Deferred::new(Done::new()));
    let defer = |work| {
        let engine = engine.clone();
        move || {
            if let Some(held) = engine.defer(work) {
                unlock(&engine, held);
            }
        }
    };
    let threads = [thread::spawn(defer(1)), thread::spawn(defer(2))];
    // Another thread runs a batch meanwhile.
    unlock(&engine, engine.lock().lock());
    for thread in threads {
        thread.join().expect("it does not panic");
    }
    let mut done = engine.lock().lock().clone();
    done.sort_unstable();
    assert_eq!(done, [1, 2], "each once");
}

/// A loop that finds the engine locked asks for a notification. Then either it finds the engine free, or it is
/// notified.
fn a_request_for_notification_is_seen_at_unlock() {
    let engine = Arc::new(Deferred::new(Done::new()));
    let held = engine.lock().lock();
    let asker = {
        let engine = engine.clone();
        thread::spawn(move || {
            engine.ask();
            engine.lock().try_lock().is_some()
        })
    };
    let mut told = false;
    engine.unlock(held, |done| {
        if engine.is_asked() {
            told = true;
            engine.run_asked(done, Vec::push);
        }
    });
    let free = asker.join().expect("it does not panic");
    assert!(told || free, "nobody tells the one who waits");
}

/// The outcome of a script that writes once.
fn run(control: &ScriptControl) -> (bool, bool) {
    let _guard = control.begin(EntryKind::Script, 7);
    let wrote = control.mark_write();
    let killed = control.is_killed();
    (wrote, killed)
}

fn a_kill_that_was_confirmed_lets_no_write_through() {
    let control = Arc::new(ScriptControl::new());
    let killer = {
        let control = control.clone();
        thread::spawn(move || {
            control.arm();
            control.kill(EntryKind::Script)
        })
    };
    let (wrote, killed) = run(&control);
    let kill = killer.join().expect("it does not panic");
    assert!(!(wrote && kill == Ok(())), "the kill was confirmed, and the script wrote");
    assert!(!(wrote && killed), "it wrote, and was killed all the same");
    assert!(kill != Err(KillError::Unkillable) || wrote, "it could not be killed, but had not written");
}

fn a_kill_that_was_confirmed_takes_the_result_back() {
    let control = Arc::new(ScriptControl::new());
    let guard = control.begin(EntryKind::Script, 7);
    let killer = {
        let control = control.clone();
        thread::spawn(move || control.kill(EntryKind::Script))
    };
    // The result of the script is written.
    let finished = control.finish();
    drop(guard);
    let kill = killer.join().expect("it does not panic");
    assert_eq!(finished, kill != Ok(()), "it ends with its result, or as one that was killed");
}

fn a_signal_never_hits_the_next_script() {
    let control = Arc::new(ScriptControl::new());
    let watchers = [(); 2].map(|()| {
        let control = control.clone();
        thread::spawn(move || {
            // The thread behaves like clients that find this script slow: the next script has only begun.
            if control.running().is_some_and(|script| script.since_ms == 7) {
                control.arm();
            }
            control.kill(EntryKind::Script) == Ok(())
        })
    });
    let (_, first) = run(&control);
    let guard = control.begin(EntryKind::Script, 8);
    let second = control.is_killed();
    drop(guard);
    let kills = watchers.map(|watcher| watcher.join().expect("it does not panic"));
    assert!(!first && !second || kills.contains(&true), "nobody has killed it");
    // Nobody is left who could mean this script.
    let _guard = control.begin(EntryKind::Script, 9);
    assert!(!control.is_killed(), "a signal outlives its script");
    assert!(control.mark_write());
}

fn a_kill_of_scripts_never_hits_a_function() {
    let control = Arc::new(ScriptControl::new());
    let killer = {
        let control = control.clone();
        thread::spawn(move || control.kill(EntryKind::Script))
    };
    let (_, first) = run(&control);
    let guard = control.begin(EntryKind::Function, 8);
    let second = control.is_killed();
    drop(guard);
    let kill = killer.join().expect("it does not panic");
    assert!(!second, "it was meant for a script");
    assert!(!first || kill == Ok(()), "nobody has killed it");
    if let Err(KillError::OtherKind(kind)) = kill {
        assert_eq!(kind, EntryKind::Function, "of that it is told");
    }
}

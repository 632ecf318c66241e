//! The errors of our own commands, with what a reader does about each.

/// The name, in the table of errors, of all commands together.
pub const ANY: &str = "any";

/// An error of our own commands, with the advice on it.
#[derive(Clone, Copy, Debug)]
pub struct Advice {
    /// The error as rows list it. `*` stands for anything, and so does a name between quotes.
    pub error: &'static str,
    /// The advice.
    pub what: &'static str,
    /// Whether any command may return the error, so that rows do not list it.
    pub is_of_any: bool,
}

impl Advice {
    /// Whether this advice is for an error that a row lists.
    pub fn is_for(&self, error: &str) -> bool {
        !self.is_of_any && general(error) == self.error
    }
}

/// The advice for an error that a row lists.
pub fn advice_of(error: &str) -> Option<&'static Advice> {
    ALL.iter().find(|advice| advice.is_for(error))
}

/// The text of an error on a page: `…` stands for the part that varies.
pub(super) fn text(error: &str) -> String {
    error.replace('*', "…")
}

/// An error without the name of the command that returns it.
fn general(error: &str) -> String {
    match error.split_once("ERR invalid expire time in '").and_then(|(_, rest)| rest.split_once('\'')) {
        Some((_, rest)) => format!("ERR invalid expire time in 'name'{rest}"),
        None => error.to_owned(),
    }
}

const fn advice(error: &'static str, what: &'static str) -> Advice {
    Advice { error, what, is_of_any: false }
}

const fn of_any(error: &'static str, what: &'static str) -> Advice {
    Advice { error, what, is_of_any: true }
}

/// All errors, by their codes.
pub(super) const ALL: &[Advice] = &[
    advice("DEADLOCK *", "Release the locks of the cycle that the text shows, and begin again."),
    advice(
        "DEADLOCK another shared holder already waits for the exclusive mode: both would wait for ever",
        "Release the hold for reading, and take the lock for writing.",
    ),
    advice(
        "DEADLOCK this owner already waits for the exclusive mode",
        "Wait for the reply to the earlier request, or cancel it with LOCK.CANCEL.",
    ),
    advice("DEADLOCK this owner holds the lock in shared mode: use LOCK.CONVERT", "Use LOCK.CONVERT."),
    advice(
        "ERR ASYNC reports the grant by a push message, which needs RESP3: send HELLO 3",
        "Send HELLO 3 first.",
    ),
    advice("ERR LOCK.MACQUIRE does not accept FAIR: use LOCK.ACQUIRE", "Take each fair lock by itself."),
    advice("ERR PERMITS must be at most 10000 with IDS, not *", "Ask for fewer permits at once."),
    advice("ERR invalid probability: *", "Correct the probability."),
    advice(
        "ERR RESULT needs an action on the reply, such as DROPREPLY",
        "Choose an action on the reply, such as DROPREPLY.",
    ),
    advice("ERR SETTLE is not allowed in a script", "Send the request outside of a script."),
    advice(
        "ERR the names of the resource and its lock are too long: a resource takes at most 4194304 bytes",
        "Use a shorter name.",
    ),
    advice("ERR key '*' is given twice", "Name each key once."),
    advice("ERR a rule must end with DO and an action", "Add DO and the action."),
    advice("ERR invalid SHA-1: *", "Use the reply of SCRIPT LOAD."),
    advice(
        "ERR the partitions would take more than 1048576 bytes together",
        "Send FAULT.HEAL, or use shorter names.",
    ),
    advice("ERR the rules would take more than 1048576 bytes together", "Remove rules with FAULT.DEL."),
    advice(
        "ERR max-burst or quantity is too large for this rate",
        "Lower the burst or the quantity, or raise the rate.",
    ),
    advice(
        "ERR hash value is not an integer",
        "Repair the key: a field of its hash should be an integer and is not.",
    ),
    advice(
        "ERR FAULT.LAG does not accept KEY in a topology, where the lag applies to all keys",
        "Leave KEY out.",
    ),
    advice("ERR increment or decrement would overflow", "Use a smaller number, or create the key anew."),
    advice("ERR invalid cursor: *", "Begin with 0, then use the cursor of the last reply."),
    advice("ERR invalid expire time in 'name' command: *", "Use a lease in the range that the text names."),
    advice("ERR invalid owner: *", "Use another name for the owner."),
    advice("ERR invalid permit id: *", "Use an id of SEM.ACQUIRE … IDS: 32 hexadecimal digits."),
    advice(
        "ERR the last running server cannot be taken down: no server would be left to bring it back",
        "Bring another server back first.",
    ),
    advice("ERR no replica in this topology can take over", "Bring a replica back first."),
    advice("ERR no such event 'name': *", "Use an event that the text lists."),
    advice("ERR no such type 'name': *", "Use a type that the text lists."),
    advice("ERR numkeys should be greater than 0: *", "Send the number of keys before the keys."),
    advice("ERR requested permits exceed the rate: *", "Ask for at most as many permits as an interval has."),
    advice(
        "ERR fault rules do not apply to the control command '*'",
        "Choose a command that a rule can act on.",
    ),
    advice("ERR syntax error: *", "Correct the word that the text names."),
    advice("ERR the server is not a replica of a server in this topology", "Name a replica."),
    advice("ERR invalid PING interval: *", "Use a longer interval."),
    advice("ERR DATA is longer than 4096 bytes", "Use shorter data."),
    advice("ERR the history of locks is off: *", "Send CONFIG SET lock-history yes."),
    advice(
        "ERR the value of the key is not an arrival time of CL.THROTTLE",
        "Use another key: this one was not made by CL.THROTTLE.",
    ),
    advice("ERR the lease of a session must be at least 100 milliseconds, not *", "Use a longer lease."),
    advice("ERR the pattern is longer than 4096 bytes", "Use a shorter pattern."),
    advice("ERR CLIENT is missing: this rate applies to each client separately", "Add CLIENT and an id."),
    advice("ERR the rate is not set: use RATE.SET", "Send RATE.SET first."),
    advice("ERR REASON is longer than 4096 bytes", "Use a shorter reason."),
    advice("ERR too many partitions: the maximum is 1000", "Send FAULT.HEAL."),
    advice("ERR too many rules: the maximum is 1000", "Remove rules with FAULT.DEL or FAULT.CLEAR."),
    advice("ERR rule 'name' already exists", "Use another name, or remove that rule with FAULT.DEL."),
    advice("ERR there is no rule *", "Add the rule first, or correct its name."),
    advice(
        "ERR there is no such server in this topology: *",
        "Use a position or an address that the text allows.",
    ),
    advice(
        "ERR this resource accepts tokens of the *",
        "Use one kind of token for a resource, or send LOCK.FENCERESET.",
    ),
    advice(
        "ERR this server is not part of a topology: its process runs no other server",
        "Start several servers: `lockwheel topology`.",
    ),
    advice("ERR time is out of range: *", "Use a time in the range that the text names."),
    advice("ERR timeout is negative: *", "Use 0 or more."),
    advice(
        "ERR timeout is not an integer or out of range: *",
        "Use an integer in the range that the text names.",
    ),
    advice("ERR token should be greater than 0: *", "Use a token of LOCK.ACQUIRE."),
    advice(
        "ERR too many observed patterns: the maximum is 1024",
        "End an observation with LOCK.OBSERVE DEL.",
    ),
    advice(
        "ERR too many open sections: the maximum is 65536 sections, or 8388608 bytes of names",
        "Leave sections with LOCK.LEAVE.",
    ),
    advice("ERR too many advances of the clock in one script", "Move the clock less often in one script."),
    advice("ERR unknown command *", "Correct the name of the command."),
    advice(
        "ERR value is not an integer or out of range: *",
        "Use an integer in the range that the text names.",
    ),
    advice(
        "ERR value is not an integer or out of range: the token counter of the lock is not an integer",
        "Repair or delete the key of the token counter.",
    ),
    advice(
        "ERR value is not an integer or out of range: the value of the key is not a count",
        "Use another key: this one does not hold a count.",
    ),
    advice(
        "ERR value is out of range, must be positive: the token counter of the lock is negative",
        "Repair or delete the key of the token counter.",
    ),
    advice(
        "ERR value is out of range, must be positive: *",
        "Use an integer in the range that the text names.",
    ),
    of_any("ERR wrong number of arguments for 'name' command", "Correct the request: see its synopsis."),
    advice("HOLDLIMIT this owner already holds the lock *", "Release a hold first, or raise MAXHOLDS."),
    advice(
        "LOCKLOST this owner lost the lock: grant *",
        "Treat the work as not protected. The text says how and when the hold was lost.",
    ),
    advice(
        "LOCKMODE the key holds a plain lock",
        "Leave the mode out, or use another key. LOCK.CONVERT needs a read-write lock.",
    ),
    advice("LOCKMODE the key holds a read-write lock", "Name the mode: SHARED or EXCLUSIVE."),
    advice(
        "LOCKMODE this owner holds the lock in both modes: use LOCK.RELEASE with SHARED or EXCLUSIVE",
        "Release one of the holds with its mode first.",
    ),
    of_any("NOPERM *", "Give the user the right: see [Users and rights](../users.md)."),
    advice("NOTHELD this owner does not hold that many permits", "Release fewer permits, or add FORCE."),
    advice("NOTHELD this owner does not hold the lock", "Correct the owner, or acquire the lock first."),
    of_any("OOM command not allowed when used memory > 'maxmemory'.", "Free memory, or raise `maxmemory`."),
    advice(
        "REENTRANT this owner already holds the lock",
        "Go on: the owner has the lock. Or leave NOREENTER out.",
    ),
    advice("STALE token *", "Stop the work: another grant holds the lock, or none does."),
    advice("STALE token * is below *", "Stop the write: the resource has seen a later grant."),
    of_any(
        "UNBLOCKED *",
        "Ask again if needed, perhaps at the new master: CLIENT UNBLOCK ended the wait, or the server became a \
         replica.",
    ),
    advice("UNBLOCKED LOCK.CANCEL ended the wait", "Stop waiting: a client has cancelled the request."),
    advice(
        "WAITQFULL this connection already waits for 1024 locks",
        "Open another connection for more waits.",
    ),
    of_any(
        "WRONGTYPE Operation against a key holding the wrong kind of value",
        "Use another key: this one holds another type.",
    ),
];

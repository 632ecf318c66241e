//! The meaning of the conditions and actions of `FAULT.ADD`, as the reference shows them.

use crate::spec::OptionTexts;

/// All arguments and options of `FAULT.ADD`.
pub(super) const OPTIONS: &[OptionTexts] = &[CONDITIONS, LIMITS, ON_REQUESTS, ON_REPLIES];

const CONDITIONS: OptionTexts = &[
    ("ON command", "Only this command. A container stands for all its subcommands."),
    ("SCRIPT sha1", "Only runs of this script, by EVAL or EVALSHA."),
    ("CONTAINS text", "Only runs of a script whose text contains this."),
    ("KEY key-glob", "Only requests with a key that matches this glob pattern."),
    ("CHANNEL channel-glob", "Only requests that name a channel that matches this glob pattern."),
    ("ARG index value", "Only requests whose argument at this index, from 1, has this value."),
    ("CLIENT client-id", "Only requests of the client with this id."),
    ("CLIENTNAME name-glob", "Only requests of clients whose name matches this glob pattern."),
    ("LIB library-glob", "Only requests of clients whose library matches this glob pattern."),
    ("RESULT", "Followed by the kind of reply. Only for actions on the reply."),
    ("OK", "After RESULT: neither an error nor null. After REPLY: the reply OK."),
    ("NIL", "After RESULT: only null replies."),
];

const LIMITS: OptionTexts = &[
    ("SKIP matches", "Lets the first matches through."),
    ("TIMES hits", "Ends the rule after so many hits."),
    ("PROB chance", "Acts with this probability, from 0 to 1."),
    ("DO", "Followed by the action."),
];

const ON_REQUESTS: OptionTexts = &[
    ("DROPREQUEST", "Does not execute the request, and never replies."),
    ("DELAY milliseconds", "Executes the request that much later, on the monotonic clock."),
    ("JITTER milliseconds", "Varies the delay by up to that much in either direction."),
    ("HOLD", "Executes the request after FAULT.GO."),
    (
        "ERROR error",
        "Replies with this error, and does not execute the request. After RESULT: only error replies.",
    ),
    ("CLOSE", "Cuts the connection before the request is executed."),
    ("RESET", "Cuts the connection before the request is executed, by a TCP reset."),
    ("DUPLICATE", "Executes the request twice, and sends the second reply."),
    (
        "LOSEPUBLISH",
        "Loses the messages that the request publishes. CLIENT, CLIENTNAME and LIB then name the receivers that \
         miss them.",
    ),
    ("NOSCRIPT", "Makes the script cache forget the script of the request."),
    ("EXPIRE", "Expires the keys of the request just before it is executed."),
    ("ARG changed-index", "Changes the integer argument at this index, from 1."),
    ("ADD added", "The number that is added to that argument."),
    ("TIMESHIFT", "Shifts times in the arguments as the wall clock was moved."),
];

const ON_REPLIES: OptionTexts = &[
    ("DROPREPLY", "Executes the request, and loses the reply."),
    (
        "CLOSEAFTER milliseconds",
        "After DROPREQUEST and DROPREPLY: cuts the connection after that time, on the monotonic clock.",
    ),
    ("CLOSEAFTER", "As an action: cuts the connection after the request is executed."),
    ("DELAYREPLY milliseconds", "Sends the reply that much later, on the monotonic clock."),
    ("HOLDREPLY", "Sends the reply after FAULT.GO."),
    ("REPLY", "Executes the request, and sends the reply that follows."),
    ("NULL", "A null reply."),
    ("INT integer", "An integer reply."),
    ("BULK bulk", "A text as the reply."),
    ("RAW raw", "These bytes as the reply. They need not form a valid reply."),
    ("RESETAFTER", "Cuts the connection after the request is executed, by a TCP reset."),
    ("SLICE slice-bytes", "Sends the reply in pieces of this many bytes."),
    ("EVERY milliseconds", "The time between two pieces."),
    ("BANDWIDTH kilobytes", "Sends the reply at this many kilobytes a second."),
    ("TRUNCATE bytes", "Sends only this many bytes of the reply, then cuts the connection."),
];

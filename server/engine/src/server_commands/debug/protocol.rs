//! DEBUG PROTOCOL: a sample value of each protocol type.

use crate::spec::{Args, CommandError, Outcome};
use lockwheel_resp::{Protocol, Reply};

const WRONG_TYPE: &str = "ERR Wrong protocol type name. Please use one of the following: \
                          string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false";
const NOT_IN_RESP2: &str = "ERR RESP2 is not supported by this command";

/// Replies with a value of the type that the argument names.
pub(super) fn protocol(args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    match &*args[2].to_ascii_lowercase() {
        b"string" => reply.bulk(b"Hello World"),
        b"integer" => reply.integer(12345),
        #[expect(clippy::approx_constant, reason = "the three digits that Redis sends")]
        b"double" => reply.double(3.141),
        b"bignum" => reply.big_number(b"1234567999999999999999999999999999999"),
        b"null" => reply.null(),
        b"array" => {
            reply.array(3);
            (0..3).for_each(|number| reply.integer(number));
        }
        b"set" => {
            reply.set(3);
            (0..3).for_each(|number| reply.integer(number));
        }
        b"map" => {
            reply.map(3);
            for number in 0..3 {
                reply.integer(number);
                reply.boolean(number == 1);
            }
        }
        b"attrib" => write_attribute(reply),
        b"push" if reply.protocol() == Protocol::Resp2 => return Err(CommandError::text(NOT_IN_RESP2)),
        b"push" => write_push(reply),
        b"verbatim" => reply.verbatim(*b"txt", b"This is a verbatim\nstring"),
        b"true" => reply.boolean(true),
        b"false" => reply.boolean(false),
        _ => return Err(CommandError::text(WRONG_TYPE)),
    }
    Ok(())
}

fn write_attribute(reply: &mut dyn Reply) {
    if reply.attribute(1) {
        reply.bulk(b"key-popularity");
        reply.array(2);
        reply.bulk(b"key:123");
        reply.integer(90);
    }
    reply.bulk(b"Some real reply following the attribute");
}

fn write_push(reply: &mut dyn Reply) {
    reply.push(2);
    reply.bulk(b"server-cpu-usage");
    reply.integer(42);
    // The push itself is out of band.
    reply.bulk(b"Some real reply following the push reply");
}

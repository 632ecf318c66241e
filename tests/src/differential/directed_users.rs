//! Lines on users that are always sent.

/// The lines, and the command that they test.
pub(super) const LINES: (&str, &[&str]) = (
    "acl|setuser",
    &[
        "ACL SETUSER u on >pw ~k* &c* +@all -get (+get ~x)",
        "ACL SETUSER \"a b\" on",
        "ACL SETUSER u (+get",
        "ACL SETUSER u nosuch",
        "ACL GETUSER nobody",
        "ACL DRYRUN nobody set foo bar",
        "ACL DRYRUN u nosuch foo",
        "ACL DRYRUN u set",
        "ACL WHOAMI",
        "ACL DELUSER u nobody",
        "ACL USERS",
        "ACL DELUSER default",
        "ACL LIST x",
        "ACL CAT nosuch",
        "ACL CAT a b",
        "ACL GENPASS 0",
        "ACL GENPASS x",
        "ACL GENPASS 1 2",
        "ACL LOG RESET",
        "ACL LOG",
        "ACL LOG x",
        "ACL LOG 1 2",
        "ACL SAVE",
        "ACL LOAD",
        "ACL HELP x",
    ],
);

//! MODULE: no modules are loaded, and none can be.

use crate::clients::Session;
use crate::config::Config;
use crate::core::Handler;
use crate::spec::{Args, CommandError, Flags, Outcome, Row};
use lockwheel_resp::Reply;

const REFUSED: &str = "ERR MODULE command not allowed. If the enable-module-command option is set to \"local\", \
                       you can run it from a local connection, otherwise you need to set this option in the \
                       configuration file, and then restart the server.";
const NOT_LOADED: &str = "ERR Error loading the extension. Please check the server logs.";
const NOT_THERE: &str = "ERR Error unloading module: no such module with that name";

const CHANGE: Flags = Flags::of(&[Flags::ADMIN, Flags::NOSCRIPT, Flags::NO_ASYNC_LOADING]);

pub(super) const ROWS: &[Row<Handler>] = &[Row::container("module", -2, MODULE)
    .about("server", "4.0.0", "Depends on subcommand.")
    .summary("Modules of the server, of which there are none.")];

const MODULE: &[Row<Handler>] = &[
    Row::new("list", 2, Handler::Stateless(list))
        .flags(&[Flags::ADMIN, Flags::NOSCRIPT])
        .about("server", "4.0.0", "O(N) where N is the number of loaded modules.")
        .summary("The modules that are loaded: none.")
        .help(&["LIST", "    Return a list of loaded modules."])
        .tips(&["nondeterministic_output_order"]),
    Row::new("load", -3, Handler::ConfiguredSession(load))
        .flags(&[CHANGE])
        .about("server", "4.0.0", "O(1)")
        .summary("Loads a module; always refused.")
        .syntax("path [arg [arg ...]]")
        .help(&[
            "LOAD <path> [<arg> ...]",
            "    Load a module library from <path>, passing to it any optional arguments.",
        ])
        .errors(&[REFUSED, NOT_LOADED]),
    Row::new("loadex", -3, Handler::ConfiguredSession(load))
        .flags(&[CHANGE])
        .about("server", "7.0.0", "O(1)")
        .summary("Loads a module with parameters; always refused.")
        .syntax("path [(CONFIG (configs: name value)) ...] [ARGS (args: arg) ...]")
        .help(&[
            "LOADEX <path> [[CONFIG NAME VALUE] [CONFIG NAME VALUE]] [ARGS ...]",
            "    Load a module library from <path>, while passing it module configurations and optional arguments.",
        ])
        .errors(&[REFUSED, NOT_LOADED]),
    Row::new("unload", 3, Handler::ConfiguredSession(unload))
        .flags(&[CHANGE])
        .about("server", "4.0.0", "O(1)")
        .summary("Unloads a module, of which there is none.")
        .syntax("name")
        .help(&["UNLOAD <name>", "    Unload a module."])
        .errors(&[REFUSED, NOT_THERE]),
    Row::help_command("help", 2)
        .flags(&[Flags::LOADING, Flags::STALE])
        .about("server", "5.0.0", "O(1)")
        .summary("The subcommands of MODULE."),
];

fn list(_: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.array(0);
    Ok(())
}

/// Refuses the command unless `enable-module-command` allows it for the client.
fn ensure_allowed(session: &Session, config: &Config) -> Outcome {
    match config.enable_module_command.allows(session.peer.is_local()) {
        true => Ok(()),
        false => Err(CommandError::text(REFUSED)),
    }
}

/// Refuses to load a module, since this server cannot run any.
fn load(session: &mut Session, config: &Config, _: Args<'_>, _: &mut dyn Reply) -> Outcome {
    ensure_allowed(session, config)?;
    Err(CommandError::text(NOT_LOADED))
}

fn unload(session: &mut Session, config: &Config, _: Args<'_>, _: &mut dyn Reply) -> Outcome {
    ensure_allowed(session, config)?;
    Err(CommandError::text(NOT_THERE))
}

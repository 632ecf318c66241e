//! Lua 5.1 as Redis offers it to scripts. It knows commands only through [`Host`].

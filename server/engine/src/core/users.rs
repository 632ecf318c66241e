//! What users may do, asked and enforced.

use super::call::Origin;
use super::engine::Engine;
use super::permit::Denied;
use crate::acl::{self, Context, Entry, Login, Refused, Setting, User, UserId, Users};
use crate::clients::{Closing, Session, Slot, Subscribed};
use crate::config::system_reason;
use crate::spec::{Args, Command, CommandId};

impl Engine {
    /// The user that a session acts as; none: it is the server's own, and may do everything.
    pub(crate) fn user_of(&self, session: &Session) -> Option<&User> {
        match session.login {
            Login::None => Some(self.users.get(UserId::DEFAULT)),
            Login::As(id) => Some(self.users.get(id)),
            Login::Server => None,
        }
    }

    /// The name of the user that a session acts as.
    pub(crate) fn user_name<'a>(&'a self, session: &Session) -> &'a [u8] {
        self.user_of(session).map_or(User::DEFAULT, |user| &user.name)
    }

    /// Whether a session has logged in, or needs not.
    pub fn is_authenticated(&self, session: &Session) -> bool {
        session.login != Login::None || self.users.get(UserId::DEFAULT).is_open()
    }

    /// Whether every client may do everything, without logging in.
    pub fn is_open(&self) -> bool {
        !self.users.are_restricted() && self.users.get(UserId::DEFAULT).is_open()
    }

    /// Why a session may not make a request.
    #[inline(always)]
    pub(crate) fn denied(&self, session: &Session, command: &Command, request: Args<'_>) -> Option<Denied> {
        if self.users.are_restricted() { self.denied_by_rules(session, command, request) } else { None }
    }

    #[cold]
    #[inline(never)]
    fn denied_by_rules(&self, session: &Session, command: &Command, request: Args<'_>) -> Option<Denied> {
        acl::denied(self.user_of(session)?, command, request)
    }

    /// Whether a session's request may read keys that it does not name.
    pub(super) fn reads_all_keys(&self, slot: Slot, command: CommandId, request: Args<'_>) -> bool {
        !self.users.are_restricted() || {
            let user = self.user_of(self.sessions.get(slot));
            user.is_none_or(|user| user.reads_all_keys(self.commands.get(command), request))
        }
    }

    /// What rules are read against.
    pub(crate) fn rule_setting(&self) -> Setting<'_> {
        Setting { table: &self.commands, all_channels: self.config.acl_pubsub_default.is_all() }
    }

    /// Writes into the log that a request was denied.
    #[cold]
    pub(super) fn log_denied(
        &mut self,
        slot: Slot,
        denied: Denied,
        command: CommandId,
        request: Args<'_>,
        origin: Origin,
    ) {
        let (refused, object) = match denied {
            Denied::Command => (Refused::Command, self.commands.get(command).name.as_bytes().into()),
            Denied::Key(at) => (Refused::Key, request[at].into()),
            Denied::Channel(at) => (Refused::Channel, request[at].into()),
        };
        let context = match origin {
            Origin::Client => self.context_of(slot),
            Origin::Transaction => Context::Multi,
            Origin::Script => Context::Lua,
        };
        let user = self.user_name(self.sessions.get(slot)).into();
        self.log_refused(slot, refused, context, object, user);
    }

    /// Writes into the log that somebody could not log in.
    pub(crate) fn log_login(&mut self, slot: Slot, name: &[u8], word: &[u8]) {
        self.log_refused(slot, Refused::Login, self.context_of(slot), word.into(), name.into());
    }

    fn context_of(&self, slot: Slot) -> Context {
        if self.sessions.get(slot).multi.is_some() { Context::Multi } else { Context::TopLevel }
    }

    fn log_refused(
        &mut self,
        slot: Slot,
        refused: Refused,
        context: Context,
        object: Box<[u8]>,
        user: Box<[u8]>,
    ) {
        let denied = &mut self.observers.stats.access_denied;
        *match refused {
            Refused::Login => &mut denied.logins,
            Refused::Command => &mut denied.commands,
            Refused::Key => &mut denied.keys,
            Refused::Channel => &mut denied.channels,
        } += 1;
        let now_ms = self.clock.now().wall_ms();
        let mut client = Vec::new();
        self.describe_client(self.sessions.get(slot), &mut client);
        let client = client.trim_ascii_end().into();
        let (created_ms, updated_ms) = (now_ms, now_ms);
        let entry = Entry { id: 0, count: 1, refused, context, object, user, client, created_ms, updated_ms };
        self.observers.acl_log.add(entry, self.config.acllog_max_len);
    }

    /// Adds a user, or changes the one of the same name. Who listens to what that user may not hear any more is
    /// disconnected; the caller after its reply.
    pub(crate) fn put_user(&mut self, user: User, caller: Slot) {
        if let Some(id) = self.users.find(&user.name) {
            self.cut_listeners(id, &user, caller);
        }
        self.users.put(user);
        self.rules_changed();
    }

    /// The host follows what has changed.
    pub(super) fn rules_changed(&self) {
        if let Some(host) = &self.environment.host {
            host.rules_changed(self);
        }
    }

    fn cut_listeners(&mut self, id: UserId, changed: &User, caller: Slot) {
        let hears = |session: &Session| {
            let all = |names: &Subscribed, are_patterns| {
                names.iter().all(|name| changed.may_hear(name, are_patterns))
            };
            all(&session.channels, false) && all(&session.shards, false) && all(&session.patterns, true)
        };
        self.cut_sessions(caller, |session| session.login.user() == Some(id) && !hears(session));
    }

    /// Removes a user, and disconnects its clients; the caller after its reply.
    pub(crate) fn remove_user(&mut self, id: UserId, caller: Slot) {
        self.cut_sessions(caller, |session| session.login == Login::As(id));
        self.users.remove(id);
        self.rules_changed();
    }

    /// Has these users instead of all others. The clients of all users but the default one are disconnected, the caller
    /// after its reply.
    pub(crate) fn replace_users(&mut self, users: Users, caller: Slot) {
        self.cut_sessions(caller, |session| matches!(session.login, Login::As(id) if id != UserId::DEFAULT));
        self.users = users;
        self.rules_changed();
    }

    /// Disconnects those clients for which `ends` holds; they have no user any more.
    fn cut_sessions(&mut self, caller: Slot, ends: impl Fn(&Session) -> bool) {
        let ending: Vec<Slot> = self.sessions.slots().filter(|&slot| ends(self.sessions.get(slot))).collect();
        for slot in ending {
            if slot == caller {
                self.sessions.get_mut(slot).close(Closing::AfterOutput);
            } else {
                self.cut_off(slot);
            }
            self.sessions.get_mut(slot).login = Login::None;
        }
    }
}

const TWO_SOURCES: &str = "Configuring Redis with users defined in redis.conf and at the same setting an ACL file path \
                           is invalid. This setup is very likely to lead to configuration errors and security holes, \
                           please define either an ACL file or declare users directly in your redis.conf, but not \
                           both.";

impl Engine {
    /// Reads the users of the file that the configuration names.
    ///
    /// # Errors
    /// Why not, in Redis' words.
    pub(crate) fn read_users_file(&self) -> Result<Users, Vec<u8>> {
        let path = &self.config.aclfile;
        let text = self.read_file(path).map_err(|error| {
            format!("Error loading ACLs, opening file '{path}': {}", system_reason(&error)).into_bytes()
        })?;
        acl::read_users(&text, path, self.rule_setting())
    }

    /// Writes the users to the file that the configuration names.
    ///
    /// # Errors
    /// The log says why.
    pub(crate) fn write_users_file(&self) -> Result<(), ()> {
        let lines = acl::describe_all(&self.users, self.rule_setting());
        let text: Vec<u8> = lines.iter().flat_map(|line| [&**line, b"\n"].concat()).collect();
        self.write_file(&self.config.aclfile, &text).map_err(|error| {
            tracing::warn!("Opening temp ACL file for ACL SAVE: {}", system_reason(&error));
        })
    }

    /// Reads the users of the file that the configuration names, if it names one, and begins with them.
    ///
    /// # Errors
    /// Why not, in Redis' words.
    pub fn begin_with_users_file(&mut self) -> Result<(), String> {
        if self.config.aclfile.is_empty() {
            return Ok(());
        }
        if !self.config.users.is_empty() {
            return Err(TWO_SOURCES.to_owned());
        }
        let users = self.read_users_file().map_err(|why| {
            format!("Aborting Redis startup because of ACL errors: {}", String::from_utf8_lossy(&why))
        })?;
        self.start.users.clone_from(&users);
        self.users = users;
        Ok(())
    }
}

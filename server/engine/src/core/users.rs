//! Users on a request's way: what they may do is asked, refusals are logged, and clients of changed users are
//! disconnected.

use super::call::Origin;
use super::engine::Engine;
use super::permit::Denied;
use crate::acl::{self, Context, Entry, Login, Refused, User, UserEffect, UserId, Users};
use crate::clients::{Closing, Session, Slot, Subscribed};
use crate::config::system_reason;
use crate::spec::{Args, Command, CommandError, CommandId, Outcome};
use lockwheel_resp::Reply;

impl Engine {
    /// Whether a session has logged in, or needs not.
    pub fn is_authenticated(&self, session: &Session) -> bool {
        self.users.are_satisfied_by(session.login)
    }

    /// Whether every client may do everything, without logging in.
    pub fn is_open(&self) -> bool {
        self.users.are_open()
    }

    /// Returns why a session may not make a request.
    #[inline(always)]
    pub(crate) fn denied(&self, session: &Session, command: &Command, request: Args<'_>) -> Option<Denied> {
        self.users.denied(session.login, command, request)
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
            Denied::Command => (Refused::Command, self.commands.get(command).name.as_bytes()),
            Denied::Key(at) => (Refused::Key, &request[at]),
            Denied::Channel(at) => (Refused::Channel, &request[at]),
        };
        let object = object.into();
        let user = self.users.name(self.sessions.get(slot).login).into();
        self.log_refused(slot, (refused, object), user, origin);
    }

    /// Writes into the log that a user was refused something, or somebody could not log in as it.
    #[cold]
    pub(crate) fn log_refused(
        &mut self,
        slot: Slot,
        (refused, object): (Refused, Box<[u8]>),
        user: Box<[u8]>,
        origin: Origin,
    ) {
        let denied = &mut self.observers.stats.access_denied;
        *match refused {
            Refused::Login => &mut denied.logins,
            Refused::Command => &mut denied.commands,
            Refused::Key => &mut denied.keys,
            Refused::Channel => &mut denied.channels,
        } += 1;
        let session = self.sessions.get(slot);
        let context = match origin {
            Origin::Client if session.multi.is_none() => Context::TopLevel,
            Origin::Client | Origin::Transaction => Context::Multi,
            Origin::Script => Context::Lua,
        };
        let now_ms = self.clock.now().wall_ms();
        let mut client = Vec::new();
        self.describe_client(session, &mut client);
        let client = client.trim_ascii_end().into();
        let (created_ms, updated_ms) = (now_ms, now_ms);
        let entry = Entry { id: 0, count: 1, refused, context, object, user, client, created_ms, updated_ms };
        self.observers.acl_log.add(entry, self.config.acllog_max_len);
    }

    /// Carries out what a command of ACL asks for. The client that has sent it is disconnected after its reply, if it
    /// is to be.
    ///
    /// # Errors
    /// Returns an error if the file of users cannot be read or written.
    #[cold]
    pub(super) fn change_users(
        &mut self,
        effect: UserEffect,
        caller: Slot,
        reply: &mut dyn Reply,
    ) -> Outcome {
        match effect {
            UserEffect::None => return Ok(()),
            UserEffect::Save => {
                self.write_users_file()?;
                reply.ok();
                return Ok(());
            }
            UserEffect::Put(user) => {
                if let Some(id) = self.users.find(&user.name) {
                    self.cut_sessions(caller, |session| {
                        session.login.user() == Some(id) && !hears_all(&user, session)
                    });
                }
                self.users.put(*user);
            }
            UserEffect::Remove(ids) => {
                for id in ids {
                    self.cut_sessions(caller, |session| session.login == Login::As(id));
                    self.users.remove(id);
                }
            }
            UserEffect::Load => {
                let read = self.read_users_file();
                let users = read.map_err(|why| CommandError::new([b"ERR ", &*why].concat()))?;
                self.cut_sessions(
                    caller,
                    |session| matches!(session.login, Login::As(id) if id != UserId::DEFAULT),
                );
                self.users = users;
                reply.ok();
            }
        }
        self.rules_changed();
        Ok(())
    }

    /// The host follows what has changed.
    pub(super) fn rules_changed(&self) {
        if let Some(host) = &self.environment.host {
            host.rules_changed(self);
        }
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

    /// Reads the users of the file that the configuration names.
    fn read_users_file(&self) -> Result<Users, Vec<u8>> {
        let path = &self.config.aclfile;
        let text = self.read_file(path).map_err(|error| {
            format!("Error loading ACLs, opening file '{path}': {}", system_reason(&error)).into_bytes()
        })?;
        acl::read_users(&text, path, self.config.rule_setting(&self.commands))
    }

    /// Writes the users to the file that the configuration names. The log says why if it cannot.
    fn write_users_file(&self) -> Outcome {
        let lines = acl::describe_all(&self.users, self.config.rule_setting(&self.commands));
        let text: Vec<u8> = lines.iter().flat_map(|line| [&**line, b"\n"].concat()).collect();
        self.write_file(&self.config.aclfile, &text).map_err(|error| {
            tracing::warn!("Opening temp ACL file for ACL SAVE: {}", system_reason(&error));
            CommandError::text(NOT_SAVED)
        })
    }

    /// Reads the users of the file that the configuration names, if it names one, and begins with them.
    ///
    /// # Errors
    /// Returns why it cannot, in Redis' words.
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

/// Whether a user may hear all channels and patterns that a session is subscribed to.
fn hears_all(user: &User, session: &Session) -> bool {
    let all = |names: &Subscribed, are_patterns| names.iter().all(|name| user.may_hear(name, are_patterns));
    all(&session.channels, false) && all(&session.shards, false) && all(&session.patterns, true)
}

const NOT_SAVED: &str =
    "ERR There was an error trying to save the ACLs. Please check the server logs for more information";

const TWO_SOURCES: &str = "Configuring Redis with users defined in redis.conf and at the same setting an ACL file path \
                           is invalid. This setup is very likely to lead to configuration errors and security holes, \
                           please define either an ACL file or declare users directly in your redis.conf, but not \
                           both.";

//! Users: permission checks, the log of refusals, and the disconnection of clients of changed users.

use super::call::Origin;
use super::engine::Engine;
use super::host::HostFiles;
use super::permit::{Denied, Reason, Refusal};
use crate::acl::{self, AclLogEntry, Login, Refused, RequestOrigin, Setting, UserEffect, Users};
use crate::client_list::ClientList;
use crate::clients::{Closing, Slot};
use crate::config::{Config, system_reason};
use crate::spec::{Args, CommandError, CommandTable, Outcome};
use lockwheel_resp::Reply;

impl Engine {
    /// Returns the users.
    #[inline]
    pub fn users(&self) -> &Users {
        &self.users
    }

    /// Logs what a user was refused, or a failed login, if there is anything to log.
    #[cold]
    pub(super) fn log_refused(&mut self, slot: Slot, refused: Option<RefusedObject>, origin: Origin) {
        let Some(refused) = refused else { return };
        let entry = refused.entry(self.client_list(), slot, origin);
        self.observers.refused(entry, self.config.acllog_max_len);
    }

    /// Applies the effect of an ACL command, or returns the error of the ACL file. If the client itself must be
    /// disconnected, that happens after its reply.
    #[cold]
    pub(super) fn change_users(
        &mut self,
        effect: UserEffect,
        caller: Slot,
        reply: &mut dyn Reply,
    ) -> Outcome {
        let loaded = match effect {
            UserEffect::None => return Ok(()),
            UserEffect::Save => {
                UsersFile::new(self.environment.files(&self.config), &self.config, &self.commands)
                    .write(&self.users)?;
                reply.ok();
                return Ok(());
            }
            UserEffect::Load => Some(
                UsersFile::new(self.environment.files(&self.config), &self.config, &self.commands)
                    .read()
                    .map_err(|why| CommandError::new([b"ERR ", &*why].concat()))?,
            ),
            UserEffect::Put(_) | UserEffect::Remove(_) => None,
        };
        for slot in self.sessions.losing_their_user(&effect, &self.users) {
            if slot == caller {
                self.sessions.get_mut(slot).close(Closing::AfterOutput);
            } else {
                self.cut_off(slot);
            }
            self.sessions.get_mut(slot).login = Login::None;
        }
        match effect {
            UserEffect::Put(user) => self.users.put(*user),
            UserEffect::Remove(ids) => ids.into_iter().for_each(|id| self.users.remove(id)),
            UserEffect::None | UserEffect::Save | UserEffect::Load => {}
        }
        if let Some(users) = loaded {
            self.users = users;
            reply.ok();
        }
        self.rules_changed();
        Ok(())
    }

    /// Notifies the host of changed parameters or users.
    pub(super) fn rules_changed(&self) {
        if let Some(host) = &self.environment.host {
            host.rules_changed(self);
        }
    }

    /// Starts with the users of the configured ACL file, if there is one.
    ///
    /// # Errors
    /// Returns the reason if the file cannot be used, in Redis' words.
    pub fn begin_with_users_file(&mut self) -> Result<(), String> {
        if self.config.aclfile.is_empty() {
            return Ok(());
        }
        if !self.config.users.is_empty() {
            return Err(TWO_SOURCES.to_owned());
        }
        let users = UsersFile::new(self.environment.files(&self.config), &self.config, &self.commands)
            .read()
            .map_err(|why| {
                format!("Aborting Redis startup because of ACL errors: {}", String::from_utf8_lossy(&why))
            })?;
        self.start.users.clone_from(&users);
        self.users = users;
        Ok(())
    }
}

pub(super) struct RefusedObject {
    pub(super) refused: Refused,
    /// The command, key or channel.
    pub(super) object: Box<[u8]>,
    /// The user, or the name of a failed login.
    pub(super) user: Box<[u8]>,
}

impl RefusedObject {
    /// Returns the object whose denial is the reason of a refusal.
    #[cold]
    pub(super) fn of(
        refusal: Refusal,
        request: Args<'_>,
        (clients, slot): (ClientList<'_>, Slot),
    ) -> Option<Self> {
        let (Reason::Denied(denied), Some(command)) = (refusal.reason, refusal.command) else { return None };
        let (refused, object) = match denied {
            Denied::Command => (Refused::Command, clients.commands.get(command).name.as_bytes()),
            Denied::Key(at) => (Refused::Key, &request[at]),
            Denied::Channel(at) => (Refused::Channel, &request[at]),
        };
        let user = clients.users.name(clients.sessions.get(slot).login);
        Some(RefusedObject { refused, object: object.into(), user: user.into() })
    }

    /// Returns the log's entry for this client, whose request has this origin.
    fn entry(self, clients: ClientList<'_>, slot: Slot, origin: Origin) -> AclLogEntry {
        let session = clients.sessions.get(slot);
        let context = match origin {
            Origin::Client if session.multi.is_none() => RequestOrigin::TopLevel,
            Origin::Client | Origin::Transaction => RequestOrigin::Multi,
            Origin::Script => RequestOrigin::Lua,
        };
        let mut client = Vec::new();
        clients.describe(session, &mut client);
        let now_ms = clients.now.wall_ms();
        let RefusedObject { refused, object, user } = self;
        let client = client.trim_ascii_end().into();
        AclLogEntry {
            id: 0,
            count: 1,
            refused,
            context,
            object,
            user,
            client,
            created_ms: now_ms,
            updated_ms: now_ms,
        }
    }
}

struct UsersFile<'e> {
    files: HostFiles<'e>,
    path: &'e str,
    setting: Setting<'e>,
}

impl<'e> UsersFile<'e> {
    fn new(files: HostFiles<'e>, config: &'e Config, commands: &'e CommandTable) -> Self {
        UsersFile { files, path: &config.aclfile, setting: config.rule_setting(commands) }
    }

    fn read(&self) -> Result<Users, Vec<u8>> {
        let path = self.path;
        let text = self.files.read(path).map_err(|error| {
            format!("Error loading ACLs, opening file '{path}': {}", system_reason(&error)).into_bytes()
        })?;
        acl::read_users(&text, path, self.setting)
    }

    /// Writes users to the file; a failure is logged.
    fn write(&self, users: &Users) -> Outcome {
        let lines = acl::describe_all(users, self.setting);
        let text: Vec<u8> = lines.iter().flat_map(|line| [&**line, b"\n"].concat()).collect();
        self.files.write(self.path, &text).map_err(|error| {
            tracing::warn!("Opening temp ACL file for ACL SAVE: {}", system_reason(&error));
            CommandError::text(NOT_SAVED)
        })
    }
}

const NOT_SAVED: &str =
    "ERR There was an error trying to save the ACLs. Please check the server logs for more information";

const TWO_SOURCES: &str = "Configuring Redis with users defined in redis.conf and at the same setting an ACL file path \
                           is invalid. This setup is very likely to lead to configuration errors and security holes, \
                           please define either an ACL file or declare users directly in your redis.conf, but not \
                           both.";

//! The parameters of the server's end.

/// The parameters of the server's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShutdownParameters {
    /// Seconds, of the system's time, without a client after which the server ends; 0: never.
    pub idle_exit: u64,
    /// Seconds for which replicas that lag behind are waited for; 0: they are not (`shutdown-timeout`).
    pub timeout: i64,
    /// How it ends at SIGTERM: `default`, or words of SHUTDOWN in lower case (`shutdown-on-sigterm`).
    pub on_sigterm: Vec<String>,
    /// The same at SIGINT (`shutdown-on-sigint`).
    pub on_sigint: Vec<String>,
}

impl Default for ShutdownParameters {
    /// Those of Redis, which never ends for want of clients.
    fn default() -> Self {
        let on_signal = vec!["default".to_owned()];
        ShutdownParameters { idle_exit: 0, timeout: 10, on_sigterm: on_signal.clone(), on_sigint: on_signal }
    }
}

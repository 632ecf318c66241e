//! The parameters of the server's shutdown.

/// The parameters of the server's shutdown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShutdownParameters {
    /// Seconds without a client, in the system's time, after which the server ends. 0: never.
    pub idle_exit: u64,
    /// Seconds for which the shutdown waits for lagging replicas. 0: it does not wait (`shutdown-timeout`).
    pub timeout: i64,
    /// The form of the shutdown at SIGTERM: `default`, or words of SHUTDOWN in lower case (`shutdown-on-sigterm`).
    pub on_sigterm: Vec<String>,
    /// The form of the shutdown at SIGINT (`shutdown-on-sigint`).
    pub on_sigint: Vec<String>,
    /// Whether a server that cannot go on ends with exit code 1, rather than with an abort signal
    /// (`use-exit-on-panic`).
    pub exits_on_panic: bool,
}

impl Default for ShutdownParameters {
    /// The defaults of Redis, which never ends for want of clients.
    fn default() -> Self {
        let on_signal = vec!["default".to_owned()];
        ShutdownParameters {
            idle_exit: 0,
            timeout: 10,
            on_sigterm: on_signal.clone(),
            on_sigint: on_signal,
            exits_on_panic: false,
        }
    }
}

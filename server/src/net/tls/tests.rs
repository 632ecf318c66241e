//! Certificates and keys in the forms in which OpenSSL writes them.

use super::files::{identity, roots};
use lockwheel_engine::config::TlsParameters;
use rustls::crypto::ring;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// A certificate of version 1, as `openssl x509 -req` makes it.
const CERTIFICATE: &str = "\
-----BEGIN CERTIFICATE-----
MIIBFzCBvQIUHTvq6m/OHXBDV+ivOAnBea4sBt4wCgYIKoZIzj0EAwIwDTELMAkG
A1UEAwwCdjEwIBcNMjYxMTIyMTIzMjA4WhgPMjEyNjEwMjkxMjMyMDhaMA0xCzAJ
BgNVBAMMAnYxMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEi/8oQluW3ajjVqGy
t5D8y01KIRJI463eSzeDUR35cASvDvVwg4+FqsY0NKRHlszhqKgjp9PR49pOx80f
dqzb+jAKBggqhkjOPQQDAgNJADBGAiEAolSQN7L35EJFVYfwq5Tv8NoUFRHlADxA
n74G95xa5tICIQCbByomS9Xv55rJe9FY+Hp7CMzzgaQ9G1KL0aciEmvopw==
-----END CERTIFICATE-----
";
/// The key of the certificate.
const KEY: &str = "\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgEKdBKn4VhlVvk6xb
s9643adtvAus6ZneauAB0RvDucWhRANCAASL/yhCW5bdqONWobK3kPzLTUohEkjj
rd5LN4NRHflwBK8O9XCDj4WqxjQ0pEeWzOGoqCOn09Hj2k7HzR92rNv6
-----END PRIVATE KEY-----
";
/// The key as `openssl ecparam -genkey` writes it.
const OLDER_KEY: &str = "\
-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIBCnQSp+FYZVb5OsW7PeuN2nbbwLrOmZ3mrgAdEbw7nFoAoGCCqGSM49
AwEHoUQDQgAEi/8oQluW3ajjVqGyt5D8y01KIRJI463eSzeDUR35cASvDvVwg4+F
qsY0NKRHlszhqKgjp9PR49pOx80fdqzb+g==
-----END EC PRIVATE KEY-----
";
/// The key as `openssl pkcs8 -topk8` encrypts it; the password is "secret".
const ENCRYPTED_KEY: &str = "\
-----BEGIN ENCRYPTED PRIVATE KEY-----
MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAj8q7z4qmjXggICCAAw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEG5zert1dUd1Za64FtrpWxAEgZCI
2tERVdrxDRAm0mNr2TVADjt+nfVFtSl54tk9MnAN1Gqx0X7UzuxK3MeqtHBue3r6
l9Ce6zSZdZj/RYtoj16z9W68MDLvUIDI5iZDI0N71SsNtinB04yd8RW/CAkpNoIe
TUd62npqpOhXkYaRWknPzTl2aSDJY/+TwCho9IDp4SHAP/UI1XJid9ZXetmXlf0=
-----END ENCRYPTED PRIVATE KEY-----
";
/// The key as `openssl ec -aes256` encrypts it.
const OLD_ENCRYPTED_KEY: &str = "\
-----BEGIN EC PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED
DEK-Info: AES-256-CBC,606FAEE9F457E4C1BEBF6897197C3B7A

ksj+DvAeAaJG1wt/x3ojIMUt9Ab2ATvPN+wEoyr4LB+c446kd7OxLpj9NONgK33F
4iKgbHyJcRdcnaqi+/6Xpaa5cxPzQLgNLXQbLW6oVaXA/N67Yl++mADPEoQuIb2S
ibYmTZfrU/1MDQEKFop4d1U7Nat9P/p/Q+FYyAtY0VE=
-----END EC PRIVATE KEY-----
";

/// An empty temporary directory, removed when dropped.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("lockwheel files {} {number}", std::process::id()));
        fs::create_dir_all(&path).expect("the system has a place for temporary files");
        Directory(path)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).expect("the directory is there");
        path.to_str().expect("the path is text").to_owned()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _already_gone = fs::remove_dir_all(&self.0);
    }
}

/// Returns the reason why a certificate and a key cannot be used; `None` if they can.
fn refusal(directory: &Directory, certificate: &str, key: &str, password: &str) -> Option<String> {
    let parameters = TlsParameters {
        cert_file: directory.file("crt", certificate),
        key_file: directory.file("key", key),
        key_file_pass: password.to_owned(),
        ..TlsParameters::default()
    };
    identity(&parameters, &ring::default_provider()).err().map(|error| error.to_string())
}

#[test]
fn keys_are_read_in_every_form() {
    let directory = Directory::new();
    let both = format!("{CERTIFICATE}{KEY}");
    for (key, password) in
        [(KEY, ""), (OLDER_KEY, ""), (KEY, "unused"), (ENCRYPTED_KEY, "secret"), (&both, "")]
    {
        assert_eq!(refusal(&directory, CERTIFICATE, key, password), None, "{key}");
    }
    let path = directory.0.join("key");
    let failed = |reason: &str| Some(format!("Failed to load private key: {}: {reason}", path.display()));
    for (key, password, reason) in [
        (ENCRYPTED_KEY, "", "it is encrypted, and there is no tls-key-file-pass"),
        (ENCRYPTED_KEY, "wrong", "bad decrypt"),
        (OLD_ENCRYPTED_KEY, "secret", "encrypted in an old format; `openssl pkcs8 -topk8` converts it"),
    ] {
        assert_eq!(refusal(&directory, CERTIFICATE, key, password), failed(reason), "{key}");
    }
    for key in
        ["", "text", CERTIFICATE, &KEY[..100], &ENCRYPTED_KEY.replace('M', "N"), &KEY.replace('A', "B")]
    {
        assert!(refusal(&directory, CERTIFICATE, key, "secret").is_some(), "{key}");
    }
    for certificate in ["", "text", KEY, &CERTIFICATE[..200], &CERTIFICATE.replace("MI", "MJ")] {
        assert!(refusal(&directory, certificate, KEY, "").is_some(), "{certificate}");
    }
}

#[test]
fn a_certificate_directory_may_contain_other_files() {
    let directory = Directory::new();
    directory.file("a.pem", CERTIFICATE);
    directory.file("b.key", KEY);
    directory.file("c.txt", "text");
    let ca_cert_dir = directory.0.to_str().expect("the path is text").to_owned();
    let parameters = TlsParameters { ca_cert_dir, ..TlsParameters::default() };
    assert_eq!(roots(&parameters).expect("the directory can be read").len(), 1);
}

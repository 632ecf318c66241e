//! Private keys that are encrypted by PKCS8.

use rustls::pki_types::PrivateKeyDer;

/// Decrypts a section of a PEM file. Returns a message if it is no such key, or the password is wrong.
#[cfg(feature = "encrypted-keys")]
pub(super) fn decrypt(section: &str, password: &str) -> Result<PrivateKeyDer<'static>, String> {
    use pkcs8::{EncryptedPrivateKeyInfoRef, SecretDocument};
    use rustls::pki_types::PrivatePkcs8KeyDer;

    let (_, document) = SecretDocument::from_pem(section).map_err(|error| error.to_string())?;
    let encrypted =
        EncryptedPrivateKeyInfoRef::try_from(document.as_bytes()).map_err(|error| error.to_string())?;
    let key = encrypted.decrypt(password).map_err(|_| "bad decrypt".to_owned())?;
    Ok(PrivatePkcs8KeyDer::from(key.as_bytes().to_vec()).into())
}

/// Refuses every key with a message, since this build has no ciphers for encrypted keys.
#[cfg(not(feature = "encrypted-keys"))]
pub(super) fn decrypt(_section: &str, _password: &str) -> Result<PrivateKeyDer<'static>, String> {
    Err("it is encrypted, and the crate `lockwheel` was built without its feature `encrypted-keys`"
        .to_owned())
}

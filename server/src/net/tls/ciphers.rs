//! `tls-ciphers` and `tls-ciphersuites`: the ciphers that a server offers, in OpenSSL's syntax.

use crate::net::tls_error::TlsError;
use rustls::SupportedCipherSuite;
use rustls::crypto::ring::cipher_suite as suite;

/// The ciphers of TLS 1.3, in the order of preference.
const SUITES: [(&str, SupportedCipherSuite); 3] = [
    ("TLS_AES_256_GCM_SHA384", suite::TLS13_AES_256_GCM_SHA384),
    ("TLS_CHACHA20_POLY1305_SHA256", suite::TLS13_CHACHA20_POLY1305_SHA256),
    ("TLS_AES_128_GCM_SHA256", suite::TLS13_AES_128_GCM_SHA256),
];

struct Cipher {
    name: &'static str,
    /// The OpenSSL keywords that include this cipher.
    words: &'static [&'static str],
    suite: SupportedCipherSuite,
}

const EVERY: &[&str] = &["ALL", "HIGH", "TLSv1.2", "ECDHE", "EECDH", "kECDHE", "kEECDH", "ECDH"];

/// The ciphers of TLS 1.2, in the order of preference.
const CIPHERS: [Cipher; 6] = [
    Cipher {
        name: "ECDHE-ECDSA-AES256-GCM-SHA384",
        words: &["ECDSA", "aECDSA", "AES", "AESGCM", "AES256", "FIPS"],
        suite: suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    },
    Cipher {
        name: "ECDHE-RSA-AES256-GCM-SHA384",
        words: &["aRSA", "AES", "AESGCM", "AES256", "FIPS"],
        suite: suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    },
    Cipher {
        name: "ECDHE-ECDSA-CHACHA20-POLY1305",
        words: &["ECDSA", "aECDSA", "CHACHA20"],
        suite: suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    },
    Cipher {
        name: "ECDHE-RSA-CHACHA20-POLY1305",
        words: &["aRSA", "CHACHA20"],
        suite: suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    },
    Cipher {
        name: "ECDHE-ECDSA-AES128-GCM-SHA256",
        words: &["ECDSA", "aECDSA", "AES", "AESGCM", "AES128", "FIPS"],
        suite: suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    },
    Cipher {
        name: "ECDHE-RSA-AES128-GCM-SHA256",
        words: &["aRSA", "AES", "AESGCM", "AES128", "FIPS"],
        suite: suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    },
];

/// Returns the ciphers that the two parameters select. An empty parameter selects all ciphers of its version.
pub(super) fn chosen(ciphers: &str, ciphersuites: &str) -> Result<Vec<SupportedCipherSuite>, TlsError> {
    let failed = |what, given| TlsError::new(format!("Failed to configure {what}: {given}"));
    let newer: Vec<_> = if ciphersuites.is_empty() {
        SUITES.iter().map(|(_, suite)| *suite).collect()
    } else {
        let find = |word| SUITES.iter().find(|(name, _)| *name == word).map(|(_, suite)| *suite);
        ciphersuites.split(':').filter_map(find).collect()
    };
    let older = Selection::of(if ciphers.is_empty() { "DEFAULT" } else { ciphers }).chosen;
    if newer.is_empty() {
        return Err(failed("ciphersuites", ciphersuites));
    }
    if older.is_empty() {
        return Err(failed("ciphers", ciphers));
    }
    Ok(newer.into_iter().chain(older.into_iter().map(|index| CIPHERS[index].suite)).collect())
}

/// A selection of TLS 1.2 ciphers by an OpenSSL list, as indexes into [`CIPHERS`].
#[derive(Default)]
struct Selection {
    chosen: Vec<usize>,
    /// The ciphers that are excluded permanently.
    banned: Vec<usize>,
}

impl Selection {
    /// Parses a list. As in OpenSSL, unknown words are ignored, and `DEFAULT` (all ciphers) may only come first.
    fn of(list: &str) -> Self {
        let mut selection = Selection::default();
        let rest = list.strip_prefix("DEFAULT").inspect(|_| selection.apply("ALL"));
        let list = rest.unwrap_or(list).replace('@', ":@");
        for word in list.split([':', ',', ';', ' ']).filter(|word| !word.is_empty()) {
            selection.apply(word);
        }
        selection
    }

    fn apply(&mut self, word: &str) {
        if word == "@STRENGTH" {
            return self.chosen.sort_by_key(|&index| CIPHERS[index].words.contains(&"AES128"));
        }
        let operator = word.chars().next().filter(|first| "!-+".contains(*first));
        let named = named(operator.map_or(word, |_| &word[1..]));
        match operator {
            Some('!') => {
                self.chosen.retain(|index| !named.contains(index));
                self.banned.extend(named);
            }
            Some('-') => self.chosen.retain(|index| !named.contains(index)),
            // Moves the ciphers to the end, in their present order.
            Some('+') => self.chosen.sort_by_key(|index| named.contains(index)),
            _ => {
                let new = |index: &usize| !self.chosen.contains(index) && !self.banned.contains(index);
                let new: Vec<usize> = named.into_iter().filter(new).collect();
                self.chosen.extend(new);
            }
        }
    }
}

/// Returns the ciphers that match all of some words, which are separated by `+`.
fn named(words: &str) -> Vec<usize> {
    let is_named = |cipher: &Cipher, word: &str| {
        cipher.name == word || EVERY.contains(&word) || cipher.words.contains(&word)
    };
    let all = |index: &usize| words.split('+').all(|word| is_named(&CIPHERS[*index], word));
    (0..CIPHERS.len()).filter(all).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the selected ciphers in short: E for ECDSA, R for RSA; 2 for AES-256, 1 for AES-128, c for ChaCha20.
    fn selected(list: &str) -> String {
        let short = |index: usize| ["E2", "R2", "Ec", "Rc", "E1", "R1"][index];
        Selection::of(list).chosen.into_iter().map(short).collect::<Vec<_>>().join(" ")
    }

    /// The expected ciphers are the output of `openssl ciphers -s -tls1_2`, restricted to the ciphers supported here.
    #[test]
    fn cipher_lists_are_read_as_by_openssl() {
        for (list, expected) in [
            ("DEFAULT", "E2 R2 Ec Rc E1 R1"),
            ("ECDHE+AESGCM:!aNULL", "E2 R2 E1 R1"),
            ("HIGH:!aECDSA", "R2 Rc R1"),
            ("aRSA+CHACHA20", "Rc"),
            ("ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384", "R1 E2"),
            ("ECDHE-RSA-AES128-GCM-SHA256 NOPE,DEFAULT", "R1"),
            ("ECDHE-RSA-AES128-GCM-SHA256 NOPE,ALL", "R1 E2 R2 Ec Rc E1"),
            ("ALL:+CHACHA20", "E2 R2 E1 R1 Ec Rc"),
            ("ALL:-AES:AES128", "Ec Rc E1 R1"),
            ("ALL:!AES:AES128", "Ec Rc"),
            ("AES128:ALL:@STRENGTH", "E2 R2 Ec Rc E1 R1"),
            ("DEFAULT@SECLEVEL=2", "E2 R2 Ec Rc E1 R1"),
            ("ECDSA", "E2 Ec E1"),
            ("FIPS", "E2 R2 E1 R1"),
            ("RSA+AES", ""),
            ("DEFAULT:@SECLEVEL=2", "E2 R2 Ec Rc E1 R1"),
            ("NOPE", ""),
            ("", ""),
            ("!", ""),
            ("é:+", ""),
        ] {
            assert_eq!(selected(list), expected, "{list}");
        }
    }

    #[test]
    fn a_cipher_list_without_a_match_is_refused() {
        assert_eq!(chosen("", "").expect("these are the defaults").len(), 9);
        let suites =
            chosen("ECDHE-RSA-AES128-GCM-SHA256", "NOPE:TLS_AES_128_GCM_SHA256").expect("both choose one");
        assert_eq!(suites, [suite::TLS13_AES_128_GCM_SHA256, suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]);
        let refused = |ciphers, suites| chosen(ciphers, suites).expect_err("nothing is chosen").to_string();
        assert_eq!(refused("NOPE", ""), "Failed to configure ciphers: NOPE");
        assert_eq!(refused("", "NOPE"), "Failed to configure ciphersuites: NOPE");
    }
}

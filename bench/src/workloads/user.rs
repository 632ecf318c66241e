//! A script of the user.

use super::Workload;
use super::script::Call;
use crate::error::Result;
use crate::load::Expect;

/// Returns workloads of a user's script with templates of its keys and arguments, by EVALSHA and by EVAL. Any reply but
/// an error is right.
///
/// # Errors
/// Returns an error if a placeholder asks for an impossible number of digits.
pub fn script(text: &str, keys: &[String], args: &[String]) -> Result<Vec<Workload>> {
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let row = |call: Call| {
        let step = call.expecting(text, &keys, &args, Expect::NoError)?;
        let about = call.about("your script");
        Ok(Workload::new(call.name("script"), "user", about, vec![step]).scripts(&[text]))
    };
    Call::BOTH.into_iter().map(row).collect()
}

//! One page with everything: plots, figures, and the method. The page is self-contained, without scripts, fonts or
//! pictures from elsewhere.

mod about;
mod latency;
mod load;
mod numbers;
mod parts;
mod waiting;

#[cfg(test)]
mod tests;

use crate::results::Results;
use maud::{PreEscaped, html};

const STYLE: &str = include_str!("page.css");

/// Returns the page. Sections without figures are left out.
pub fn html(results: &Results) -> String {
    let names: Vec<&str> = results.servers.iter().map(|server| server.name.as_str()).collect();
    let title = match names.as_slice() {
        [] => "Lockwheel measured".to_string(),
        [only] => format!("{only} measured"),
        [first, others @ ..] => format!("{first} beside {}", others.join(" and ")),
    };
    let page = html! {
        (PreEscaped("<!doctype html>"))
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    (about::head(results, &title))
                    (load::sections(results))
                    (latency::section(results))
                    (waiting::handoffs(results))
                    (waiting::lateness(results))
                    (waiting::pauses(results))
                    (about::memory(results))
                    (about::startup(results))
                    (about::method(results))
                }
            }
        }
    };
    page.into_string()
}

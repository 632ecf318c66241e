//! One page with everything: plots, figures, and how they were made. It needs nothing but itself: no script, no font,
//! no picture from elsewhere.

mod about;
mod latency;
mod load;
mod parts;
mod waiting;

#[cfg(test)]
mod tests;

use crate::results::Results;
use parts::escape;

/// The frame, with places for the title, the style and the body.
const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");

/// The page. Sections without figures are left out.
pub fn html(results: &Results) -> String {
    let names: Vec<&str> = results.servers.iter().map(|server| server.name.as_str()).collect();
    let title = match names.as_slice() {
        [] => "Lockwheel measured".to_string(),
        [only] => format!("{only} measured"),
        [first, others @ ..] => format!("{first} beside {}", others.join(" and ")),
    };
    let body = [
        about::head(results, &title),
        load::sections(results),
        latency::section(results),
        waiting::handoffs(results),
        waiting::lateness(results),
        waiting::pauses(results),
        about::memory(results),
        about::startup(results),
        about::method(results),
    ];
    // The body comes last: what it holds is never looked through for places.
    PAGE.replace("{{title}}", &escape(&title)).replace("{{style}}", STYLE).replace("{{body}}", &body.concat())
}

//! The pictures of the pages are made from their sources: `docs/pictures/NAME.pikchr` becomes `NAME.svg`.
//!
//! A picture has no background of its own. Its style makes it readable on a light and on a dark page.

use lockwheel_tests::pages::file;
use pikchr::{Pikchr, PikchrFlags};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The folder of the sources and of the pictures.
const PICTURES: &str = "docs/pictures";

/// The style of all pictures. Lines and text have the colour of the text; the surfaces are tinted.
const STYLE: &str = "\
<style>
svg { color: #1f2328; font: 14px system-ui, sans-serif }
path, circle, ellipse { fill-opacity: 0.3 }
@media (prefers-color-scheme: dark) { svg { color: #e6edf3 } }
</style>";

/// The parts of pikchr's output that this test replaces. The second: not every viewer knows that attribute.
const REPLACED: &[(&str, &str)] =
    &[("rgb(0,0,0)", "currentColor"), ("dominant-baseline=\"central\"", "dy=\"0.35em\"")];

/// Makes the picture of a source.
///
/// # Errors
/// Returns pikchr's message if the source has a mistake.
fn picture(source: &str) -> Result<String, String> {
    let drawn = Pikchr::render(source, None, PikchrFlags::default())?;
    let (_, body) = drawn.split_once('\n').ok_or("the output has one line")?;
    let body = REPLACED.iter().fold(body.trim_end().to_owned(), |body, (from, to)| body.replace(from, to));
    let (width, height) = (drawn.width(), drawn.height());
    let size = format!("width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\"");
    Ok(format!("<svg xmlns=\"http://www.w3.org/2000/svg\" {size}>\n{STYLE}\n{body}\n"))
}

/// The files of the folder with this extension.
fn files(extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(file(PICTURES)).expect("the book has pictures").flatten();
    let paths = entries.map(|entry| entry.path());
    let mut found: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
    found.sort();
    found
}

/// The names of these files, without the extension.
fn names(paths: &[PathBuf]) -> Vec<&str> {
    paths.iter().filter_map(|path| Path::file_stem(path)?.to_str()).collect()
}

/// With `RENEW_PICTURES=1`, the test writes the pictures.
#[test]
fn pictures_are_made_from_their_sources() {
    let sources = files("pikchr");
    for source in &sources {
        let text = fs::read_to_string(source).expect("a source is text");
        let wanted = picture(&text).unwrap_or_else(|problem| panic!("{}: {problem}", source.display()));
        let path = source.with_extension("svg");
        if env::var_os("RENEW_PICTURES").is_some() {
            fs::write(&path, wanted).expect("a picture can be written");
            continue;
        }
        let there = fs::read_to_string(&path).unwrap_or_default();
        assert!(there == wanted, "{} differs from its source; RENEW_PICTURES=1 writes it", path.display());
    }
    assert_eq!(names(&files("svg")), names(&sources), "each picture has a source");
}

#[test]
fn a_picture_is_readable_on_dark_pages() {
    let drawn = picture("box \"held\" fill 0x388bfd").expect("this is a source");
    assert!(drawn.contains("prefers-color-scheme: dark"), "{drawn}");
    assert!(drawn.contains("currentColor") && !drawn.contains("rgb(0,0,0)"), "{drawn}");
    assert!(picture("box \"held").is_err());
}

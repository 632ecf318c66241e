//! README.md, as the tests read it that keep it true.

use std::fs;
use std::path::PathBuf;

/// A fenced block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The word behind the fence.
    pub language: String,
    /// The lines between the fences.
    pub text: String,
    /// Where the first of them stands, counted from 1.
    pub line: usize,
}

/// The file.
pub fn path() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md"))
}

/// Its text.
///
/// # Panics
/// When it cannot be read.
pub fn text() -> String {
    fs::read_to_string(path()).expect("the repository has a README.md")
}

/// Its blocks of a language, in order.
pub fn blocks(language: &str) -> Vec<Block> {
    fenced(&text()).into_iter().filter(|block| block.language == language).collect()
}

/// Its only block of a language.
///
/// # Panics
/// When there is none, or another.
pub fn block(language: &str) -> Block {
    let mut blocks = blocks(language);
    assert_eq!(blocks.len(), 1, "README.md has one block of {language}");
    blocks.remove(0)
}

/// All blocks of a text.
fn fenced(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (index, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(language), None) => {
                open = Some(Block { language: language.into(), text: String::new(), line: index + 2 });
            }
            (Some(_), Some(block)) => blocks.push(block),
            (None, Some(mut block)) => {
                block.text.push_str(line);
                block.text.push('\n');
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_their_language_and_their_place() {
        let blocks = fenced("a\n```sh\nb\n\nc\n```\nd\n```\n```\n");
        let block =
            |language: &str, text: &str, line| Block { language: language.into(), text: text.into(), line };
        assert_eq!(blocks, [block("sh", "b\n\nc\n", 3), block("", "", 9)]);
    }
}

//! The string literals of a Java source, concatenations joined.

/// Returns the values of all string expressions that consist of literals alone, in the order of the text. Also returns
/// the number of expressions that join a literal with something else by `+`.
///
/// An expression ends at a bracket, a comma, a semicolon, `=`, `?`, `:` or `return`. Comments are skipped, escapes
/// resolved. Text blocks are read verbatim.
pub fn literals(source: &str) -> (Vec<String>, Vec<String>) {
    let mut lexer = Lexer { rest: source };
    let (mut whole, mut mixed) = (Vec::new(), Vec::new());
    let mut open = vec![Expression::default()];
    while let Some(token) = lexer.next() {
        match token {
            Token::Text(text) => {
                let expression = last(&mut open);
                expression.text.push_str(&text);
                expression.literals += 1;
            }
            Token::Open => {
                last(&mut open).others += 1;
                open.push(Expression::default());
            }
            Token::Close | Token::End => {
                std::mem::take(last(&mut open)).finish(&mut whole, &mut mixed);
                if token == Token::Close && open.len() > 1 {
                    open.pop();
                }
            }
            Token::CloseBlock => {
                std::mem::take(last(&mut open)).finish(&mut whole, &mut mixed);
                if open.len() > 1 {
                    open.pop();
                }
                std::mem::take(last(&mut open)).finish(&mut whole, &mut mixed);
            }
            Token::Plus => {}
            Token::Other => last(&mut open).others += 1,
        }
    }
    (whole, mixed)
}

fn last(open: &mut [Expression]) -> &mut Expression {
    open.last_mut().expect("the outermost expression is never closed")
}

/// The parts of one expression so far.
#[derive(Default)]
struct Expression {
    text: String,
    literals: usize,
    others: usize,
}

impl Expression {
    fn finish(self, whole: &mut Vec<String>, mixed: &mut Vec<String>) {
        match (self.literals, self.others) {
            (0, _) => {}
            (_, 0) => whole.push(self.text),
            _ => mixed.push(self.text),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Text(String),
    Plus,
    Open,
    /// `)` or `]`.
    Close,
    /// `}`, which also ends the enclosing statement.
    CloseBlock,
    /// A token that ends an expression.
    End,
    Other,
}

struct Lexer<'a> {
    rest: &'a str,
}

impl Lexer<'_> {
    fn next(&mut self) -> Option<Token> {
        self.skip_blank();
        let first = self.rest.chars().next()?;
        let token = match first {
            '"' => return Some(Token::Text(self.text())),
            '\'' => {
                self.quoted('\'');
                return Some(Token::Other);
            }
            'A'..='Z' | 'a'..='z' | '_' | '0'..='9' => {
                let end =
                    self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
                let word = &self.rest[..end];
                let token = if word == "return" { Token::End } else { Token::Other };
                self.rest = &self.rest[end..];
                return Some(token);
            }
            '+' => Token::Plus,
            '(' | '[' | '{' => Token::Open,
            ')' | ']' => Token::Close,
            '}' => Token::CloseBlock,
            ',' | ';' | '=' | '?' | ':' => Token::End,
            _ => Token::Other,
        };
        self.rest = &self.rest[first.len_utf8()..];
        Some(token)
    }

    fn skip_blank(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            let end = if self.rest.starts_with("//") {
                self.rest.find('\n')
            } else if self.rest.starts_with("/*") {
                self.rest.find("*/").map(|at| at + 2)
            } else {
                return;
            };
            self.rest = &self.rest[end.unwrap_or(self.rest.len())..];
        }
    }

    /// Reads the value of the literal that begins here.
    fn text(&mut self) -> String {
        if let Some(block) = self.rest.strip_prefix("\"\"\"") {
            let (text, rest) = block.split_once("\"\"\"").unwrap_or((block, ""));
            self.rest = rest;
            return text.to_string();
        }
        self.quoted('"')
    }

    /// Reads the text between two quotes, and resolves escapes.
    fn quoted(&mut self, quote: char) -> String {
        let mut text = String::new();
        let mut chars = self.rest[1..].chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some('0') => text.push('\0'),
                    Some(other) => text.push(other),
                    None => break,
                },
                c if c == quote => break,
                c => text.push(c),
            }
        }
        self.rest = chars.as_str();
        text
    }
}

#[cfg(test)]
mod tests {
    use super::literals;

    #[test]
    fn concatenated_literals_are_joined_and_mixed_ones_are_listed() {
        let source = r#"
            // "not this"
            f(a, "one " + /* "nor this" */
                "two\n", 'c', '"', g("three") + "four", "five" + x);
            String s = "six"; return "seven" + ("eight" + "nine");
        "#;
        let (whole, mixed) = literals(source);
        assert_eq!(whole, ["one two\n", "three", "six", "eightnine"]);
        assert_eq!(mixed, ["four", "five", "seven"]);
    }
}

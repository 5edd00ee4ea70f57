//! Comments that belong to something: above a definition, behind it, above a module.

use crate::source::{Source, Span};

/// Returns the `##` lines directly above a definition that begins its line.
pub(crate) fn documentation(source: &Source, span: Span) -> Option<String> {
    let before = source.text().get(..span.start as usize)?;
    let (above, indentation) = before.rsplit_once('\n')?;
    if !indentation.trim().is_empty() {
        return None;
    }
    let marked = above.split('\n').rev().map_while(|line| line.trim_start().strip_prefix("##"));
    let mut lines: Vec<&str> = marked.map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end()).collect();
    lines.reverse();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Returns the comment after a definition on its last line, with the blanks
/// before it.
pub(crate) fn trailing_comment(source: &Source, span: Span) -> &str {
    let rest = source.text().get(span.end as usize..).unwrap_or_default();
    let line = rest.lines().next().unwrap_or_default();
    let after = line.trim_start().trim_start_matches(';').trim_start();
    if after.starts_with('#') { line.trim_end() } else { "" }
}

/// Returns the comment that a text begins with, up to its first blank line.
#[cfg(feature = "cli")]
pub(crate) fn opening(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix('#'));
    let lines = lines.map(str::trim).take_while(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

/// Returns the first sentence of a text, without the lines' ends.
#[cfg(feature = "cli")]
pub(crate) fn first_sentence(text: &str) -> String {
    let lines = text.lines().map(str::trim).take_while(|line| !line.is_empty());
    let text = lines.collect::<Vec<_>>().join(" ");
    let ends = text.match_indices(['.', ':', ';']).map(|(at, _)| at);
    let is_end = |at: &usize| text[at + 1..].starts_with(' ') || at + 1 == text.len();
    let end =
        ends.filter(is_end).find(|at| text[..*at].matches('(').count() == text[..*at].matches(')').count());
    end.map_or(text.clone(), |end| text[..end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_after_a_definition_belongs_to_it() {
        let cases = [
            ("def f(x) x  # One.\n# Two.", "  # One."),
            ("def f(x) x; # One.", "; # One."),
            ("def f(x) x\n# No.", ""),
            ("def f(x) x; f(1) # No.", ""),
            ("def f(x) x", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(trailing_comment(&Source::new("test", text), Span::new(0, 10)), expected, "{text}");
        }
    }

    #[test]
    fn documentation_stands_right_above() {
        let cases = [
            ("## One.\n##  Two.\ndef f(x) x", Some("One.\n Two.")),
            ("  ## One.\n  def f(x) x", Some("One.")),
            ("# No.\ndef f(x) x", None),
            ("## No.\n\ndef f(x) x", None),
            ("## No.\n1; def f(x) x", None),
            ("def f(x) x", None),
        ];
        for (text, expected) in cases {
            let at = text.find("def").unwrap_or_default();
            let found = documentation(&Source::new("test", text), Span::new(at, text.len()));
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }

    #[cfg(feature = "cli")]
    #[test]
    fn texts_are_shortened_to_sentences() {
        for (text, expected) in [
            ("Returns 1.5 of it. More.", "Returns 1.5 of it"),
            ("Returns it (see e.g. there), to\n1e-9: by halving.", "Returns it (see e.g. there), to 1e-9"),
            ("Returns it\n\nMore", "Returns it"),
            ("", ""),
        ] {
            assert_eq!(first_sentence(text), expected);
        }
        assert_eq!(opening("# One,\n# two.\n#\n# Three.\ndef f(x) x"), "One, two.");
        assert_eq!(opening("def f(x) x"), "");
    }
}

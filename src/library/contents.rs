//! What a module offers, as its text says: for help.

use crate::name::Names;
use crate::source::{Source, Span};
use crate::syntax::comment::{documentation, first_sentence, opening};
use crate::syntax::lexer::lex;
use crate::syntax::token::{Terminal, Tokens};

/// What a module offers.
#[derive(Debug)]
pub(crate) struct ModuleContents {
    /// The comment that it begins with, up to a blank line.
    pub(crate) about: String,
    /// The heads of its public functions and operators and the names of its public
    /// variables that are documented, each with its first sentence.
    pub(crate) members: Vec<(String, String)>,
}

impl ModuleContents {
    /// Returns the contents of a module; without members if it is too long.
    pub(crate) fn of(source: &Source) -> Self {
        let members = lex(source, &Names::new()).map_or_else(|_| Vec::new(), |tokens| members(&tokens));
        Self { about: opening(source.text()), members }
    }
}

fn members(tokens: &Tokens) -> Vec<(String, String)> {
    let member = |at: usize| {
        let head = match tokens.terminals().get(at..at + 2)? {
            [Terminal::Def, _] => head(tokens, at + 1)?,
            [Terminal::Var, Terminal::Identifier] => tokens.span(at + 1),
            _ => return None,
        };
        let source = tokens.source();
        let above = documentation(source, tokens.span(at));
        let is_listed = above.is_some() || tokens.terminals()[at] == Terminal::Def;
        let head = source.slice(head);
        let text = above.unwrap_or_default();
        (is_listed && !head.starts_with('_')).then(|| (head.to_owned(), first_sentence(&text)))
    };
    (0..tokens.len()).filter_map(member).collect()
}

/// Returns where the head of a definition stands: its name and its parameters.
fn head(tokens: &Tokens, first: usize) -> Option<Span> {
    let mut open = 0;
    for at in first..tokens.len() {
        match tokens.terminals()[at] {
            Terminal::LeftParenthesis => open += 1,
            Terminal::RightParenthesis if open == 1 => {
                return Some(Span::new(tokens.span(first).start as usize, tokens.span(at).end as usize));
            }
            Terminal::RightParenthesis => open -= 1,
            Terminal::Def => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_names_are_listed_with_their_first_sentences() {
        let text = "# Means. All of them.\n\n## A limit. Really.\nvar most = 3\nvar hidden = 1\n\
                    ## Returns the mean: of two.\ndef mean(a b) _half(a + b)\ndef _half(x) x / 2\n\
                    ## Adds.\ndef binary ⊕ 25 (a b) var x = a in x + b\ndef sum(f(x) n) 0\ndef";
        let found = ModuleContents::of(&Source::new("test", text));
        assert_eq!(found.about, "Means. All of them.");
        let members: Vec<(&str, &str)> =
            found.members.iter().map(|(head, text)| (&**head, &**text)).collect();
        assert_eq!(
            members,
            [
                ("most", "A limit"),
                ("mean(a b)", "Returns the mean"),
                ("binary ⊕ 25 (a b)", "Adds"),
                ("sum(f(x) n)", "")
            ]
        );
    }
}

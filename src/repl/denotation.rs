//! What a name after a command denotes: a definition, an operator, a variable,
//! or something built in.

use super::command::CommandError;
use super::manual::{ManualEntry, ManualKind};
use crate::context::Context;
use crate::diagnostic::suggest::nearest;
use crate::host::decimal::format_number;

/// Something that has a name. An operator's function is named as in
/// descriptions: `unary!`, `binary|`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Denotation {
    /// A definition of the program, an operator's among them.
    Definition(String),
    Variable(String),
    /// A function that is built in.
    Host(String),
    /// An operator that is built in, or a keyword.
    Manual(&'static ManualEntry),
}

impl Denotation {
    /// Returns what a name denotes; the definition, if there is also a variable
    /// of that name. Operators may be given as `|`, `binary |` or `binary | 15
    /// (a b)`.
    ///
    /// # Errors
    /// If it denotes nothing, or several operators.
    pub(super) fn of(context: &Context, text: &str) -> Result<Self, CommandError> {
        let text = text.trim();
        match <[Self; 1]>::try_from(Self::all(context, text)) {
            Ok([only]) => Ok(only),
            Err(none) if none.is_empty() => Err(undefined(context, text)),
            Err(several) => {
                let names: Vec<String> = several.iter().map(Self::name).collect();
                Err(CommandError::Text(format!("`{text}` could be {}", names.join(" or "))))
            }
        }
    }

    /// Returns all that a text may denote: more than one if operators before
    /// and between operands have the same name.
    pub(super) fn all(context: &Context, text: &str) -> Vec<Self> {
        let text = text.trim();
        if context.state(text).is_some() {
            return vec![Self::Definition(text.to_owned())];
        }
        if context.is_function(text) {
            return vec![Self::Host(text.to_owned())];
        }
        if context.variable(text).is_ok() {
            return vec![Self::Variable(text.to_owned())];
        }
        let (kinds, name) = operator(text);
        let keywords = ManualEntry::all(text)
            .filter(|entry| matches!(entry.kind, ManualKind::Keyword | ManualKind::Word))
            .map(Self::Manual);
        keywords.chain(kinds.iter().filter_map(|kind| Self::operator(context, *kind, name))).collect()
    }

    /// Returns what an operator means: the program's definition hides the
    /// built-in one.
    fn operator(context: &Context, kind: ManualKind, name: &str) -> Option<Self> {
        let full = match kind {
            ManualKind::Unary => format!("unary{name}"),
            ManualKind::Binary => format!("binary{name}"),
            ManualKind::Keyword | ManualKind::Word => return None,
        };
        if context.state(&full).is_some() {
            return Some(Self::Definition(full));
        }
        ManualEntry::all(name).find(|entry| entry.kind == kind).map(Self::Manual)
    }

    /// Returns the name that denotes this and nothing else.
    fn name(&self) -> String {
        match self {
            Self::Definition(name) | Self::Variable(name) | Self::Host(name) => name.clone(),
            Self::Manual(entry) => entry.full_name(),
        }
    }

    /// Returns a one-line description, for anything but a definition.
    pub(super) fn line(&self, context: &Context) -> String {
        match self {
            Self::Definition(name) => context.signature(name).unwrap_or_else(|| name.clone()),
            Self::Variable(name) => {
                let value = context.variable(name).map(format_number).unwrap_or_default();
                format!("{name} = {value}, a variable")
            }
            Self::Host(name) => format!("`{name}` is built in"),
            Self::Manual(ManualEntry { kind: ManualKind::Keyword, name, .. }) => {
                format!("`{name}` is a keyword")
            }
            Self::Manual(entry) => format!("`{}` is built in", entry.name),
        }
    }
}

/// Returns the kinds of operators that a text may mean, and the operator's
/// name.
fn operator(text: &str) -> (&'static [ManualKind], &str) {
    let mut words = text.split([' ', '(']).filter(|word| !word.is_empty());
    let joined = |kind: &str| text.strip_prefix(kind).filter(|name| is_punctuation(name));
    match (words.next().unwrap_or_default(), words.next()) {
        ("unary", Some(operator)) => (&[ManualKind::Unary], operator),
        ("binary", Some(operator)) => (&[ManualKind::Binary], operator),
        (operator, None) => match (joined("unary"), joined("binary")) {
            (Some(name), _) => (&[ManualKind::Unary], name),
            (None, Some(name)) => (&[ManualKind::Binary], name),
            (None, None) => (&[ManualKind::Unary, ManualKind::Binary], operator),
        },
        _ => (&[], ""),
    }
}

/// Returns whether a text is the complete name of an operator's function, such
/// as `unary~` or `binary ~`.
pub(super) fn is_operator_name(text: &str) -> bool {
    let rest = text.strip_prefix("unary").or_else(|| text.strip_prefix("binary"));
    let operator = rest.map(str::trim).filter(|rest| is_punctuation(rest));
    operator
        .is_some_and(|operator| !operator.contains(|letter: char| letter.is_alphanumeric() || letter == '('))
}

/// Returns whether a text begins like an operator, not like a name.
fn is_punctuation(text: &str) -> bool {
    text.starts_with(|letter: char| !(letter.is_alphanumeric() || letter == '_' || letter.is_whitespace()))
}

/// Returns the names that a program may write: of functions and variables.
pub(super) fn public_names(context: &Context) -> Vec<String> {
    let names = context.function_names().into_iter().chain(context.variable_names());
    names.filter(|name| !name.contains("._")).collect()
}

fn undefined(context: &Context, text: &str) -> CommandError {
    let names = public_names(context);
    let is_name = crate::syntax::is_identifier(text);
    CommandError::Text(match nearest(text, names.iter().map(String::as_str)).filter(|_| is_name) {
        Some(near) => format!("`{text}` is not defined; did you mean `{near}`?"),
        None => format!("`{text}` is not defined"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Engine, Mode};

    #[test]
    fn names_denote_what_they_are_bound_to() {
        let engine = Engine::with_config(Config::new().mode(Mode::Interpret)).unwrap();
        let mut context = engine.context().unwrap();
        context.eval("var v = 1, f = 2; def f(x) x; def unary ! (x) x; def binary | 5 (a b) a").unwrap();
        context.eval("def unary ~ (x) x; def binary ~ 9 (a b) a").unwrap();
        let of = |text: &str| Denotation::of(&context, text);
        let definition = |name: &str| Denotation::Definition(name.to_owned());
        for text in ["|", "binary|", "binary |", "binary | 5 (a b)"] {
            assert_eq!(of(text).unwrap(), definition("binary|"), "{text}");
        }
        assert_eq!(of("!").unwrap(), definition("unary!"));
        assert_eq!(of("f").unwrap(), definition("f"));
        assert_eq!(of("v").unwrap(), Denotation::Variable("v".into()));
        assert_eq!(of("sin").unwrap(), Denotation::Host("sin".into()));
        for text in ["unary~", "unary ~", "unary ~ (x)"] {
            assert_eq!(of(text).unwrap(), definition("unary~"), "{text}");
        }
        for (text, name, kind) in [
            ("+", "+", ManualKind::Binary),
            ("binary +", "+", ManualKind::Binary),
            ("for", "for", ManualKind::Keyword),
        ] {
            let found = of(text).unwrap();
            assert!(
                matches!(&found, Denotation::Manual(entry) if entry.name == name && entry.kind == kind),
                "{text}: {found:?}"
            );
        }
        assert_eq!(of("~").unwrap_err().to_string(), "`~` could be unary~ or binary~");
        assert_eq!(of("-").unwrap_err().to_string(), "`-` could be unary- or binary-");
        for text in ["", "zzz", "unary +", "f(x)", "?"] {
            assert_eq!(of(text).unwrap_err().to_string(), format!("`{text}` is not defined"));
        }
        context.eval("def scaled(x) x").unwrap();
        let near = Denotation::of(&context, "scald").unwrap_err();
        assert_eq!(near.to_string(), "`scald` is not defined; did you mean `scaled`?");
    }
}

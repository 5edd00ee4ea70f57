//! What a name behind a command denotes: a definition, an operator, a variable,
//! or a function of the host.

use super::command::Trouble;
use crate::context::Context;
use crate::output::format_number;

/// Something that has a name. The name of an operator's function is as
/// descriptions have it: `unary!`, `binary|`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Denotation {
    /// A definition of the program, an operator's among them.
    Definition(String),
    Variable(String),
    Host(String),
}

impl Denotation {
    /// What a name denotes; a definition, if a variable has the same name.
    /// Operators may be given as `|`, `binary |` or `binary | 15 (a b)`.
    pub(super) fn of(context: &Context, text: &str) -> Result<Self, Trouble> {
        let text = text.trim();
        if context.state(text).is_some() {
            return Ok(Self::Definition(text.to_owned()));
        }
        if context.is_function(text) {
            return Ok(Self::Host(text.to_owned()));
        }
        if context.variable(text).is_ok() {
            return Ok(Self::Variable(text.to_owned()));
        }
        Self::operator(context, text)
    }

    fn operator(context: &Context, text: &str) -> Result<Self, Trouble> {
        let mut words = text.split([' ', '(']).filter(|word| !word.is_empty());
        let (first, second) = (words.next().unwrap_or_default(), words.next());
        let candidates = match (first, second) {
            ("unary" | "binary", Some(operator)) => vec![format!("{first}{operator}")],
            (operator, None) => vec![format!("unary{operator}"), format!("binary{operator}")],
            _ => Vec::new(),
        };
        let defined: Vec<String> =
            candidates.into_iter().filter(|name| context.state(name).is_some()).collect();
        match <[String; 1]>::try_from(defined) {
            Ok([only]) => Ok(Self::Definition(only)),
            Err(none) if none.is_empty() => Err(Trouble::Text(format!("`{text}` is not defined"))),
            Err(several) => Err(Trouble::Text(format!("`{text}` could be {}", several.join(", ")))),
        }
    }

    /// A line that says what it is, for what is not a definition.
    pub(super) fn line(&self, context: &Context) -> String {
        match self {
            Self::Definition(name) => context.signature(name).unwrap_or_else(|| name.clone()),
            Self::Variable(name) => {
                let value = context.variable(name).map(format_number).unwrap_or_default();
                format!("{name} = {value}, a variable")
            }
            Self::Host(name) => format!("{name} is a function of the host"),
        }
    }
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
        assert_eq!(of("~").unwrap_err().to_string(), "`~` could be unary~, binary~");
        for text in ["", "g", "+", "binary", "binary +", "f(x)"] {
            assert_eq!(of(text).unwrap_err().to_string(), format!("`{text}` is not defined"));
        }
    }
}

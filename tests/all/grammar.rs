//! The grammar files agree with the lexer and the parser.
//!
//! `grammar/kaleidoscope.ebnf` is read here, and its tokens, its productions
//! and the language it describes are compared with the lexer and the parser:
//! over sentences made from it, over mistakes made in those, and over every
//! program in the repository.

mod ebnf;
mod folding;
mod recogniser;
mod sentences;

use crate::choices::{Choices, Random};
use crate::reading;
use ebnf::{Expression, Grammar};
use kal::diagnostic::{Diagnostic, ErrorCode};
use kal::name::Names;
use kal::source::Source;
use kal::syntax::lexer;
use kal::syntax::operator::Operators;
use kal::syntax::parser::parse_all;
use kal::syntax::token::{COMPOUND_OPERATORS, KEYWORDS, PUNCTUATION, Terminal};
use recogniser::Recogniser;
use sentences::Generator;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const SENTENCES: usize = 3_000;

fn grammar() -> Grammar {
    Grammar::read(include_str!("../../grammar/kaleidoscope.ebnf"))
}

/// Returns the texts in quotes of the productions that `select` takes.
fn quoted(grammar: &Grammar, select: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let mut texts = BTreeSet::new();
    for (name, expression) in grammar.productions() {
        if select(name) {
            expression.visit(&mut |part| {
                if let Expression::Text(text) = part {
                    texts.insert(text.clone());
                }
            });
        }
    }
    texts
}

fn is_syntactic(name: &str) -> bool {
    name.starts_with(char::is_lowercase)
}

#[test]
fn terminals_are_those_of_the_lexer() {
    let fixed = KEYWORDS.iter().chain(PUNCTUATION).map(|entry| entry.1.to_owned());
    assert_eq!(quoted(&grammar(), is_syntactic), fixed.collect());
    let compound = COMPOUND_OPERATORS.iter().map(|&text| text.to_owned());
    assert_eq!(quoted(&grammar(), |name| name == "OPERATOR"), compound.collect());
}

#[test]
fn every_production_used_is_defined_and_every_one_defined_is_used() {
    let grammar = grammar();
    let defined: BTreeSet<&str> = grammar.productions().map(|(name, _)| name).collect();
    let mut used = BTreeSet::from(["program".to_owned(), "COMMENT".to_owned(), "WHITE_SPACE".to_owned()]);
    for (_, expression) in grammar.productions() {
        expression.visit(&mut |part| {
            if let Expression::Name(name) = part {
                used.insert(name.clone());
            }
        });
    }
    assert_eq!(defined, used.iter().map(String::as_str).collect());
}

#[test]
fn every_production_has_a_parser_of_its_name() {
    let parser = include_str!("../../src/syntax/parser/grammar.rs");
    for (name, _) in grammar().productions().filter(|(name, _)| is_syntactic(name)) {
        let found = parser.contains(&format!("fn {name}(")) || parser.contains(&format!("fn {name}<"));
        assert!(found, "the parser has no function `{name}`");
    }
}

#[test]
fn sentences_of_the_grammar_are_accepted() {
    let grammar = grammar();
    let mut generator = Generator::new(&grammar, Random::new(1));
    for _ in 0..SENTENCES {
        let sentence = generator.sentence("program");
        let text = sentences::text(&sentence, &mut generator.random);
        let refusals = refusals(&text);
        assert!(refusals.is_empty(), "{text}\n{refusals:?}");
    }
}

#[test]
fn parser_and_recogniser_agree() {
    let grammar = grammar();
    let recogniser = Recogniser::new(&grammar);
    let mut generator = Generator::new(&grammar, Random::new(2));
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..SENTENCES {
        let mut sentence = generator.sentence("program");
        for _ in 0..4 {
            let text = sentences::text(&sentence, &mut generator.random);
            let agreed = check_agreement(&recogniser, &text);
            *(if agreed { &mut accepted } else { &mut refused }) += 1;
            sentences::mutate(&mut sentence, &mut generator.random);
        }
    }
    assert!(accepted > SENTENCES && refused > SENTENCES, "{accepted} accepted, {refused} refused");
}

#[test]
fn parser_and_recogniser_agree_on_the_programs_of_the_repository() {
    let grammar = grammar();
    let recogniser = Recogniser::new(&grammar);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for directory in ["tests/programs", "examples"] {
        for path in programs(&root.join(directory)) {
            let text = std::fs::read(&path).unwrap();
            check_agreement(&recogniser, &String::from_utf8_lossy(&text));
        }
    }
}

/// Returns every `*.kal` below a directory, which need not exist.
fn programs(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| if path.is_dir() { programs(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "kal"))
        .collect()
}

/// Fails unless both accept the text or both refuse it; returns which.
fn check_agreement(recogniser: &Recogniser<'_>, text: &str) -> bool {
    let names = Names::new();
    let tokens = lexer::lex(&Source::new("test", text), &names).unwrap();
    // A text that does not end has swallowed what follows, and is the only mistake told.
    if tokens.diagnostics(0..tokens.len()).any(|mistake| mistake.code == ErrorCode::MalformedText) {
        return false;
    }
    let refusals = refusals(text);
    let recognised = recogniser.accepts("program", tokens.terminals());
    assert_eq!(refusals.is_empty(), recognised, "{text}\n{refusals:?}");
    recognised
}

/// Returns the diagnostics that mean that it is not a sentence of the grammar.
fn refusals(text: &str) -> Vec<Diagnostic> {
    let names = Names::new();
    let (_, mut diagnostics) = parse_all(&Source::new("test", text), &names, &mut Operators::new(&names));
    diagnostics.retain(|diagnostic| {
        matches!(
            diagnostic.code,
            ErrorCode::UnexpectedToken
                | ErrorCode::UnexpectedEnd
                | ErrorCode::UnclosedParenthesis
                | ErrorCode::UnknownCharacter
                | ErrorCode::MisplacedText
        )
    });
    diagnostics
}

#[test]
fn printed_source_reads_back_as_the_same_tree() {
    let grammar = grammar();
    let mut generator = Generator::new(&grammar, Random::new(3));
    generator.few_assignments = true;
    let mut items = 0;
    for _ in 0..SENTENCES {
        let mut program = Vec::new();
        for _ in 0..4 {
            program.extend(generator.sentence("item"));
            program.push(Terminal::Semicolon);
        }
        let text = sentences::text(&program, &mut generator.random);
        items += reading::round_trips(&text);
    }
    assert!(items > SENTENCES, "only {items} items");
}

#[test]
fn the_editor_grammar_has_the_same_words() {
    let text = include_str!("../../grammar/kaleidoscope.tmLanguage.json");
    let json: serde_json::Value = serde_json::from_str(text).unwrap();
    let patterns = json["repository"]["keyword"]["patterns"].as_array().unwrap();
    let mut words = BTreeSet::new();
    for pattern in patterns {
        let alternatives = pattern["match"].as_str().unwrap();
        let alternatives =
            alternatives.strip_prefix(r"\b(").and_then(|rest| rest.strip_suffix(r")\b")).unwrap();
        words.extend(alternatives.split('|'));
    }
    assert_eq!(words, KEYWORDS.iter().map(|entry| entry.1).collect());
    let operators = json["repository"]["operator"]["match"].as_str().unwrap().replace('\\', "");
    for &operator in COMPOUND_OPERATORS {
        assert!(operators.contains(operator), "the editor grammar lacks `{operator}`");
    }
}

#[test]
fn sample_tokens_are_the_terminals_they_stand_for() {
    let mut random = Random::new(4);
    for _ in 0..SENTENCES {
        use Terminal::{Identifier, Number, Operator, Qualified, Text};
        for terminal in [Identifier, Qualified, Number, Text, Operator] {
            let text = sentences::sample(terminal, &mut random);
            let tokens = lexer::lex(&Source::new("test", text.as_str()), &Names::new()).unwrap();
            assert_eq!(tokens.terminals(), [terminal], "{text}");
            assert_eq!(tokens.diagnostics(0..1).count(), 0, "{text}");
        }
    }
}

#[test]
fn arbitrary_texts_are_read_and_their_mistakes_drawn() {
    const PIECES: [&str; 37] = [
        "def",
        "extern",
        "if",
        "then",
        "else",
        "for",
        "while",
        "do",
        "\"text\"",
        "print(",
        "+=",
        "in",
        "var",
        "unary",
        "binary",
        "import",
        "(",
        ")",
        ",",
        ";",
        "=",
        "x",
        "f(",
        "1",
        "1.2.3",
        "0x",
        "#",
        "\n",
        " ",
        "\t",
        "\u{1b}[31m",
        "“",
        "\u{202e}",
        "中",
        "&",
        "!",
        "\0",
    ];
    let grammar = grammar();
    let recogniser = Recogniser::new(&grammar);
    let mut random = Random::new(5);
    for _ in 0..SENTENCES {
        let text: String = (0..random.below(24)).map(|_| PIECES[random.below(PIECES.len())]).collect();
        check_agreement(&recogniser, &text);
        reading::mistakes_are_drawn(&text);
    }
}

//! What must hold for every text: whatever parses prints as the same program,
//! and every mistake is drawn.

use kal::diagnostic::draw;
use kal::name::Names;
use kal::source::Source;
use kal::syntax::ast::{Ast, Item, ItemKind};
use kal::syntax::lexer;
use kal::syntax::operator::Operators;
use kal::syntax::parser::{ParseLimits, Parser, parse_all};
use kal::syntax::printer;

/// Prints and reads back every item of a text; returns their number.
pub fn round_trips(text: &str) -> usize {
    let names = Names::new();
    let mut operators = Operators::new(&names);
    let tokens = lexer::lex(&Source::new("test", text), &names).unwrap();
    let mut parser = Parser::new(&tokens, &names, ParseLimits::default());
    let mut count = 0;
    while let Some(result) = parser.next_item(&operators) {
        let Ok(item) = result else { continue };
        let printed = printer::source(&item, &names, &operators);
        let (again, diagnostics) =
            parse_all(&Source::new("printed", printed.as_str()), &names, &mut operators.clone());
        assert!(diagnostics.is_empty() && again.len() == 1, "{text}\n{printed}\n{diagnostics:?}");
        assert_eq!(shape(&again[0]), shape(&item), "{text}\n{printed}");
        count += 1;
        if let ItemKind::Definition(prototype, _) = &item.kind
            && let Some(fixity) = prototype.fixity
        {
            operators.define(fixity, prototype.name.name, &item.names);
        }
    }
    count
}

/// Returns an item without its places.
fn shape(item: &Item) -> String {
    let nodes = |ast: &Ast| format!("{:?}", ast.nodes);
    match &item.kind {
        ItemKind::Expression(ast) => nodes(ast),
        ItemKind::Effect(ast) => format!("do {}", nodes(ast)),
        ItemKind::Variables(ast) => format!("variables {}", nodes(ast)),
        ItemKind::Import(import) => {
            let names = import.names.iter().flatten().map(|name| name.name).collect::<Vec<_>>();
            let alias = import.alias.map(|alias| alias.name);
            format!("import {:?} {alias:?} {names:?}", import.module.name)
        }
        ItemKind::Extern(prototype) | ItemKind::Definition(prototype, _) => {
            let parameters: Vec<_> = prototype.parameters.iter().map(|parameter| parameter.name).collect();
            let body = if let ItemKind::Definition(_, ast) = &item.kind { nodes(ast) } else { String::new() };
            format!("{:?} {parameters:?} {:?} {body}", prototype.name.name, prototype.fixity)
        }
    }
}

/// Draws every mistake of a text, for people and for programs.
pub fn mistakes_are_drawn(text: &str) {
    let names = Names::new();
    let (_, diagnostics) = parse_all(&Source::new("test", text), &names, &mut Operators::new(&names));
    for diagnostic in diagnostics {
        let drawn = draw::draw(&diagnostic, draw::Style::default());
        assert!(drawn.starts_with(&format!("error[{}]: ", diagnostic.code)), "{text:?}\n{drawn}");
        assert!(drawn.contains('^'), "no place is marked\n{text:?}\n{drawn}");
        assert!(drawn.chars().all(|character| character == '\n' || !character.is_control()), "{drawn:?}");
        let json: serde_json::Value = serde_json::from_str(&draw::json(&diagnostic)).unwrap();
        assert_eq!(json["code"], diagnostic.code.to_string());
    }
}

#[test]
fn reading_takes_less_memory_than_four_times_the_text() {
    use crate::robustness::{alone, resident};
    alone("reading::reading_takes_less_memory_than_four_times_the_text", || {
        let define = |index: usize| {
            let next = (index + 1) % 20_000;
            format!("def f{index}(x, y) if x < y then x * {index} + y * 2.5 - 1 else f{next}(y, x / 3.25)\n")
        };
        let read = |count: usize| {
            let source = Source::new("long", (0..count).map(define).collect::<String>());
            let (names, before) = (Names::new(), resident());
            let operators = Operators::new(&names);
            let mut items = 0;
            for tokens in lexer::Pieces::new(&source, &names, u32::MAX).unwrap() {
                let mut parser = Parser::new(&tokens, &names, ParseLimits::default());
                while let Some(item) = parser.next_item(&operators) {
                    item.unwrap();
                    items += 1;
                }
            }
            assert_eq!(items, count);
            (resident() - before, source.text().len() as i64)
        };
        read(100);
        let (grown, text) = read(20_000);
        assert!(grown < 4 * text, "{grown} bytes for a text of {text}");
    });
}

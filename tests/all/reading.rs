//! What must hold of every text, however it came about: what can be read
//! prints as the same program, and every mistake is drawn.

use kal::diagnostic::draw;
use kal::name::Names;
use kal::source::Source;
use kal::syntax::ast::{Ast, Item, ItemKind};
use kal::syntax::lexer;
use kal::syntax::operator::Operators;
use kal::syntax::parser::{Limits, Parser, parse_all};
use kal::syntax::printer;

/// Prints and reads back every item of a text; gives how many.
pub fn round_trips(text: &str) -> usize {
    let names = Names::new();
    let mut operators = Operators::new(&names);
    let tokens = lexer::lex(&Source::new("test", text), &names).unwrap();
    let mut parser = Parser::new(&tokens, &names, Limits::default());
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
            operators.define(fixity, prototype.name.name);
        }
    }
    count
}

/// An item without its places.
fn shape(item: &Item) -> String {
    let nodes = |ast: &Ast| format!("{:?}", ast.nodes);
    match &item.kind {
        ItemKind::Expression(ast) => nodes(ast),
        ItemKind::Variables(ast) => format!("variables {}", nodes(ast)),
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

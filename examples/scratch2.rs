use kal::{diagnostic::draw, name::Names, source::Source, syntax::{operator::Operators, parser::*}};
fn main() {
    let names = Names::new();
    let args: Vec<String> = std::env::args().collect();
    let text = if args[1] == "-" { std::io::read_to_string(std::io::stdin()).unwrap() } else { args[1].replace("\\n", "\n").replace("\\t", "\t") };
    let source = Source::new("x.kal", text);
    let (_, diagnostics) = parse_all(&source, &names, &mut Operators::new(&names));
    let t = std::time::Instant::now();
    for d in &diagnostics { print!("{}", draw::draw(d, args.len() > 2)); println!("{}", draw::json(d)); }
    eprintln!("{:?}", t.elapsed());
}

use kal::{name::Names, source::Source, syntax::{lexer, operator::Operators, parser::*}};
use std::time::Instant;
fn main() {
    let names = Names::new();
    if let Some(text) = std::env::args().nth(1) {
        let source = Source::new("x", text);
        let (items, diagnostics) = parse_all(&source, &names, &mut Operators::new(&names));
        for i in items { println!("{:?}", i.kind); }
        for d in diagnostics { println!("{:?} {} {:?} {:?}", d.code, d.message, d.labels.iter().map(|l| (l.span.start, l.span.end, l.message.clone())).collect::<Vec<_>>(), d.help); }
        return;
    }
    let mut text = String::new();
    let mut n = 0;
    while text.len() < 10_000_000 {
        use std::fmt::Write;
        writeln!(text, "def f{n}(x y) x*2+f{}(y, 3) - (x < y) * if x then y else {}.5", n / 2, n % 100).unwrap();
        n += 1;
    }
    let mb = text.len() as f64 / 1e6;
    let source = Source::new("x", text);
    for _ in 0..5 {
        let names = Names::new();
        let t = Instant::now();
        let tokens = lexer::lex(&source, &names).unwrap();
        let lex = t.elapsed().as_secs_f64();
        let operators = Operators::new(&names);
        let t = Instant::now();
        let mut parser = Parser::new(&tokens, &names, Limits::default());
        let mut items = Vec::new();
        while let Some(item) = parser.next_item(&operators) { items.push(item.unwrap()); }
        let parse = t.elapsed().as_secs_f64();
        println!("{mb} MB, {} tokens, {} items: lex {:.1} MB/s, parse {:.1} MB/s, both {:.1} MB/s", tokens.len(), items.len(), mb / lex, mb / parse, mb / (lex + parse));
    }
    for (what, text) in [("open", "(".repeat(1_000_000)), ("deep", format!("{}1{}", "(".repeat(9_999), ")".repeat(9_999))),("10000", format!("{}1{}", "(".repeat(10_000), ")".repeat(10_000))), ("10001", format!("{}1{}", "(".repeat(10_001), ")".repeat(10_001))), ("if", "if 1 then 2 else ".repeat(9_999) + "1"), ("minus", "-".repeat(1_000_000) + "1"), ("sum", "1+".repeat(1_000_000) + "1"), ("power", "2^".repeat(1_000_000) + "1"), ("args", format!("f({}1)", "1,".repeat(1_000_000)))] {
        let source = Source::new("x", text);
        let t = Instant::now();
        let (items, d) = std::thread::Builder::new().stack_size(512 << 10).spawn(move || {
            let names = Names::new(); parse_all(&source, &names, &mut Operators::new(&names)) }).unwrap().join().unwrap();
        println!("{what}: {:?} {} items, {:?}", t.elapsed(), items.len(), d.iter().map(|d| (d.code, &d.message)).collect::<Vec<_>>());
    }
}

//! Drawing diagnostics for people, and writing them for programs.
//!
//! ariadne draws. It is given only the lines with labels, each cut to the width
//! of the screen and without control characters, so the size of the source does
//! not matter; the line numbers it could not know are inserted afterwards.
//! Nothing here decides what a message says.

use super::visible::{visible, visible_text};
use super::{Diagnostic, Label, Severity};
use crate::source::{Source, Span};
use ariadne::{CharSet, Color, Config, IndexType, LabelAttach, Report, ReportKind};
use serde::Serialize;
use std::fmt::{self, Write as _};
use unicode_width::UnicodeWidthStr;

/// How a diagnostic is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Style {
    /// Whether escape sequences add colour.
    pub colour: bool,
    /// The width in columns; `None` if the output is not a terminal.
    pub columns: Option<usize>,
}

/// Returns the diagnostic with its source lines, for a terminal: several lines,
/// each with its line feed.
pub fn draw(diagnostic: &Diagnostic, style: Style) -> String {
    head(diagnostic, style.colour) + &body(diagnostic, style) + &trace(&diagnostic.trace)
}

/// Returns the source lines with their labels, and the help.
fn body(diagnostic: &Diagnostic, Style { colour, columns }: Style) -> String {
    let longest = columns.map_or(LONGEST_LINE, |columns| columns.saturating_sub(MARGIN).max(SHORTEST_CUT));
    let excerpts = Excerpt::all(&diagnostic.labels, longest);
    let Some(first) = excerpts.first() else {
        let help = diagnostic.help.as_deref();
        return help.map_or_else(String::new, |help| format!("  Help: {}\n", visible_text(help)));
    };
    let colours = Colours::of(diagnostic.severity);
    let mut report = Report::build(ReportKind::Error, (0, first.primary())).with_config(config(colour));
    for (id, excerpt) in excerpts.iter().enumerate() {
        for place in &excerpt.places {
            let tint = if place.is_primary { colours.primary } else { colours.related };
            let label = ariadne::Label::new((id, place.range.clone()));
            report.add_label(label.with_message(&place.message).with_color(tint));
        }
    }
    if let Some(help) = &diagnostic.help {
        report.add_help(visible_text(help));
    }
    let mut drawn = Vec::new();
    match report.finish().write(Texts::new(&excerpts), &mut drawn) {
        Ok(()) => number_lines(&with_basic_colours(&String::from_utf8_lossy(&drawn)), &excerpts),
        Err(_) => String::new(),
    }
}

/// Replaces ariadne's colours, from the palette of 256, by those that every
/// colour terminal has.
fn with_basic_colours(drawn: &str) -> String {
    const BASIC: [(&str, &str); 5] =
        [("246", "90"), ("240", "90"), ("249", "37"), ("115", "36"), ("147", "96")];
    BASIC.iter().fold(drawn.to_owned(), |drawn, (of_256, basic)| {
        drawn.replace(&format!("\x1b[38;5;{of_256}m"), &format!("\x1b[{basic}m"))
    })
}

/// Returns the call trace, one call a line.
fn trace(calls: &[String]) -> String {
    let lines = calls.iter().enumerate().map(|(index, call)| {
        format!("{}{}\n", if index == 0 { "  Calls: " } else { "         " }, visible_text(call))
    });
    lines.collect()
}

/// Returns the head line `error[E0103]: message`, a form that ariadne does not
/// have.
fn head(diagnostic: &Diagnostic, colour: bool) -> String {
    let (severity, code) = (diagnostic.severity, diagnostic.code);
    let message = visible_text(&diagnostic.message);
    let (on, off) = match (colour, severity) {
        (false, _) => ("", ""),
        (true, Severity::Error) => ("\x1b[1;31m", "\x1b[0m"),
        (true, Severity::Warning) => ("\x1b[1;33m", "\x1b[0m"),
    };
    format!("{on}{severity}[{code}]{off}: {message}\n")
}

/// Returns the diagnostic as a JSON object on one line, without a line feed.
pub fn json(diagnostic: &Diagnostic) -> String {
    let labels: Vec<JsonPlace<'_>> = diagnostic.labels.iter().map(JsonPlace::new).collect();
    let record = Record {
        code: diagnostic.code.to_string(),
        severity: diagnostic.severity.to_string(),
        message: &diagnostic.message,
        place: labels.first().cloned(),
        labels,
        help: diagnostic.help.as_deref(),
        trace: &diagnostic.trace,
    };
    serde_json::to_string(&record).unwrap_or_default()
}

#[derive(Serialize)]
struct Record<'d> {
    code: String,
    severity: String,
    message: &'d str,
    #[serde(flatten)]
    place: Option<JsonPlace<'d>>,
    labels: Vec<JsonPlace<'d>>,
    help: Option<&'d str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    trace: &'d [String],
}

/// A label's place; ends are one past the last character.
#[derive(Clone, Serialize)]
struct JsonPlace<'d> {
    file: &'d str,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
    #[serde(rename = "note")]
    message: &'d str,
}

impl<'d> JsonPlace<'d> {
    fn new(label: &'d Label) -> Self {
        let (line, column) = label.source.position(label.span.start);
        let (end_line, end_column) = label.source.position(label.span.end);
        Self { file: label.source.name(), line, column, end_line, end_column, message: &label.message }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

struct Colours {
    primary: Color,
    related: Color,
}

impl Colours {
    fn of(severity: Severity) -> Self {
        let primary = match severity {
            Severity::Error => Color::Red,
            Severity::Warning => Color::Yellow,
        };
        Self { primary, related: Color::Blue }
    }
}

fn config(colour: bool) -> Config {
    Config::new()
        .with_color(colour)
        .with_char_set(CharSet::Ascii)
        .with_index_type(IndexType::Char)
        .with_label_attach(LabelAttach::Start)
}

/// The lines of one source that a diagnostic has labels on.
struct Excerpt {
    source_name: String,
    rows: Vec<Row>,
    places: Vec<ExcerptLabel>,
    /// Line and column of the first label.
    position: (usize, usize),
    /// The rows' text, with an empty line wherever lines are left out.
    text: String,
    /// The number of each line of `text`; 0 for the empty ones.
    numbers: Vec<usize>,
}

/// One line, or the part of a long line that is shown.
struct Row {
    line: usize,
    /// The bytes of the source that are shown.
    window: Span,
    text: String,
    /// Where `text` begins in the excerpt, in characters.
    start: usize,
}

/// A label in an excerpt.
struct ExcerptLabel {
    range: std::ops::Range<usize>,
    message: String,
    is_primary: bool,
}

impl Excerpt {
    /// Returns an excerpt for each source, that of the first label first.
    fn all(labels: &[Label], longest: usize) -> Vec<Self> {
        let mut sources: Vec<&Source> = Vec::new();
        for label in labels {
            if !sources.contains(&&label.source) {
                sources.push(&label.source);
            }
        }
        sources.into_iter().filter_map(|source| Self::of(source, labels, longest)).collect()
    }

    fn of(source: &Source, labels: &[Label], longest: usize) -> Option<Self> {
        let own: Vec<&Label> = labels.iter().filter(|label| label.source == *source).collect();
        let mut rows: Vec<Row> = Vec::new();
        for label in &own {
            if !rows.iter().any(|row| row.shows(start_of(label))) {
                rows.push(Row::around(source, start_of(label), reach(label, &own), longest));
            }
        }
        rows.sort_by_key(|row| row.window.start);
        let position = source.position(start_of(own.first()?));
        let (text, numbers) = join(&mut rows);
        let mut excerpt = Self {
            source_name: visible_text(source.name()),
            rows,
            places: Vec::new(),
            position,
            text,
            numbers,
        };
        excerpt.places = own.iter().filter_map(|label| excerpt.mark(label, &labels[0])).collect();
        // ariadne wants the labels of one source in the order of their lines.
        excerpt.places.sort_by_key(|place| place.range.start);
        Some(excerpt)
    }

    fn mark(&self, label: &Label, primary: &Label) -> Option<ExcerptLabel> {
        let row = self.rows.iter().find(|row| row.shows(start_of(label)))?;
        let start = row.column(&label.source, start_of(label));
        let end = row.column(&label.source, label.span.end.min(row.window.end)).max(start + 1);
        let shown: String = row.text.chars().skip(start).take(end - start).collect();
        // A combining character is drawn over the one before.
        let (start, end) = match (start, shown.is_empty() || shown.width() > 0) {
            (_, true) => (start, end),
            (0, false) => (start, end + 1),
            (_, false) => (start - 1, end),
        };
        let message = if label.message.is_empty() { "here" } else { &label.message };
        Some(ExcerptLabel {
            range: row.start + start..row.start + end,
            message: visible_text(message),
            is_primary: std::ptr::eq(label, primary),
        })
    }

    /// Returns the place of the report for ariadne, which uses only its
    /// position.
    fn primary(&self) -> std::ops::Range<usize> {
        let primary = self.places.iter().find(|place| place.is_primary).or(self.places.first());
        primary.map_or(0..0, |place| place.range.clone())
    }
}

/// Returns how many columns the labels on the line of `label` need after its
/// place.
fn reach(label: &Label, labels: &[&Label]) -> usize {
    /// The columns between a place and its remark.
    const LEAD: usize = 4;
    let text = label.source.text();
    let from = start_of(label) as usize;
    let is_near = |other: &&&Label| {
        let at = start_of(other) as usize;
        text.get(from.min(at)..from.max(at)).is_some_and(|between| !between.contains('\n'))
    };
    let end = |other: &&Label| {
        let place = text
            .get(other.span.range())
            .and_then(|place| place.lines().next())
            .map_or(1, UnicodeWidthStr::width);
        (start_of(other) as usize).saturating_sub(from)
            + place.max(1)
            + LEAD
            + visible_text(&other.message).width()
    };
    labels.iter().filter(is_near).map(end).max().unwrap_or(0)
}

/// Returns the start of a label, at most the end of its source.
fn start_of(label: &Label) -> u32 {
    label.span.start.min(label.source.text().len() as u32)
}

/// Where lines are cut, in bytes, if the width is unknown.
const LONGEST_LINE: usize = 320;
/// The columns for the line number and the marks of a cut.
const MARGIN: usize = 10;
/// At least this many columns of a line are shown.
const SHORTEST_CUT: usize = 24;

impl Row {
    /// Creates the row of a place: at most `longest` bytes of its line, with
    /// room for `reach` columns after the place.
    fn around(source: &Source, offset: u32, reach: usize, longest: usize) -> Self {
        let text = source.text();
        let offset = floor_char_boundary(text, offset as usize);
        let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
        let end = text[offset..].find('\n').map_or(text.len(), |at| offset + at);
        let centred = offset.saturating_sub(longest / 3).min(end.saturating_sub(longest));
        // The remark at the place needs columns, too.
        let shifted = if reach < longest { (offset + reach).saturating_sub(longest).min(offset) } else { 0 };
        let first = centred.max(shifted).max(start);
        let from = floor_char_boundary(text, first);
        let to = floor_char_boundary(text, (first + longest).min(end));
        let shown = text[from..to].strip_suffix('\r').unwrap_or(&text[from..to]);
        let mut row = String::with_capacity(shown.len() + 2);
        row.extend((from > start).then_some('…'));
        row.extend(shown.chars().map(|character| if character == '\t' { '\t' } else { visible(character) }));
        row.extend((to < end).then_some('…'));
        Self { line: source.position(offset as u32).0, window: Span::new(from, to), text: row, start: 0 }
    }

    fn shows(&self, offset: u32) -> bool {
        (self.window.start..=self.window.end).contains(&offset)
    }

    /// Returns the column in the row of a byte offset.
    fn column(&self, source: &Source, offset: u32) -> usize {
        let text = source.text();
        let (start, end) = (self.window.start as usize, floor_char_boundary(text, offset as usize));
        let cut = usize::from(self.text.starts_with('…') && !text[start..].starts_with('…'));
        cut + text.get(start..end).map_or(0, |before| before.chars().count())
    }
}

fn floor_char_boundary(text: &str, offset: usize) -> usize {
    (0..=offset.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// Returns the text of all rows and the line number of each. The blank at the
/// end of each makes room for a label after the last character.
fn join(rows: &mut [Row]) -> (String, Vec<usize>) {
    let (mut text, mut numbers, mut length) = (String::new(), Vec::new(), 0);
    for row in rows {
        let previous = numbers.last().copied();
        if previous.is_some_and(|number| number + 1 != row.line) {
            text.push('\n');
            numbers.push(0);
            length += 1;
        }
        row.start = length;
        text.push_str(&row.text);
        text.push_str(" \n");
        numbers.push(row.line);
        length += row.text.chars().count() + 2;
    }
    (text, numbers)
}

/// The excerpts as ariadne's sources.
struct Texts(Vec<ariadne::Source<String>>);

/// The name of every source for ariadne; no drawn text contains it.
const SOURCE_MARK: char = '\x01';

impl Texts {
    fn new(excerpts: &[Excerpt]) -> Self {
        Self(excerpts.iter().map(|excerpt| ariadne::Source::from(excerpt.text.clone())).collect())
    }
}

impl ariadne::Cache<usize> for Texts {
    type Storage = String;

    fn fetch(&mut self, id: &usize) -> Result<&ariadne::Source<String>, impl fmt::Debug> {
        self.0.get(*id).ok_or("no such source")
    }

    fn display<'a>(&self, _id: &'a usize) -> Option<impl fmt::Display + 'a> {
        Some(SOURCE_MARK)
    }
}

/// Inserts the real file names, positions and line numbers into ariadne's
/// output, and carets under places one character wide.
fn number_lines(drawn: &str, excerpts: &[Excerpt]) -> String {
    let widest = excerpts.iter().flat_map(|excerpt| &excerpt.numbers).max().map_or(1, |most| digits(*most));
    let local = excerpts.iter().map(|excerpt| excerpt.numbers.len()).max().map_or(1, digits);
    let mut renumber = Renumber { excerpts, next: 0, margin: widest.saturating_sub(local), carets: false };
    let mut result = String::with_capacity(drawn.len());
    // The first line is ariadne's own head line.
    for line in drawn.lines().skip(1) {
        result.push_str(renumber.line(line).trim_end());
        result.push('\n');
    }
    result
}

fn digits(number: usize) -> usize {
    number.to_string().len()
}

struct Renumber<'e> {
    excerpts: &'e [Excerpt],
    /// The index of the excerpt whose head comes next.
    next: usize,
    /// How much wider the margin gets.
    margin: usize,
    /// Whether the line before was a source line.
    carets: bool,
}

impl Renumber<'_> {
    fn line(&mut self, line: &str) -> String {
        let carets = std::mem::take(&mut self.carets);
        if let Some((before, after)) = line.split_once(SOURCE_MARK) {
            return self.head(before, after);
        }
        let (lead, rest) = split_margin(line);
        if let Some((number, rest)) = leading_number(rest) {
            self.carets = true;
            return self.source_line(lead, number, rest);
        }
        let fill = if rest.starts_with('-') { "-" } else { " " };
        let wider = format!("{lead}{}{rest}", fill.repeat(self.margin));
        if carets { with_carets(&wider) } else { wider }
    }

    /// Returns the line that names a file.
    fn head(&mut self, before: &str, after: &str) -> String {
        let behind =
            after.trim_start_matches(|character: char| character == ':' || character.is_ascii_digit());
        let excerpt = self.excerpts.get(self.next);
        self.next += 1;
        let (name, (line, column)) =
            excerpt.map_or(("", (0, 0)), |excerpt| (&excerpt.source_name, excerpt.position));
        format!("{}{before}{name}:{line}:{column}{behind}", " ".repeat(self.margin))
    }

    /// Returns a source line with its real number; ariadne counts from 1 in the
    /// excerpt.
    fn source_line(&self, lead: &str, number: usize, rest: &str) -> String {
        let excerpt = self.next.checked_sub(1).and_then(|excerpt| self.excerpts.get(excerpt));
        let true_number =
            excerpt.and_then(|excerpt| excerpt.numbers.get(number - 1)).copied().unwrap_or(number);
        let escape = lead.find('\x1b').map_or("", |at| &lead[at..]).trim_end_matches(' ');
        let blanks = lead.chars().filter(|&character| character == ' ').count();
        let width = (blanks - 1 + digits(number) + self.margin).max(digits(true_number));
        let mut line = format!(" {escape}");
        let _ = write!(line, "{true_number:>width$}{rest}");
        line
    }
}

/// Splits off leading blanks and colour.
fn split_margin(line: &str) -> (&str, &str) {
    let mut at = 0;
    while let Some(next) = line[at..].chars().next() {
        match next {
            ' ' => at += 1,
            '\x1b' => at += line[at..].find('m').map_or(1, |end| end + 1),
            _ => break,
        }
    }
    line.split_at(at)
}

/// Splits `12 | …` into 12 and the rest.
fn leading_number(text: &str) -> Option<(usize, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit())?;
    let number = text[..end].parse().ok()?;
    text[end..].starts_with(" |").then_some((number, &text[end..]))
}

/// Returns the line under a source line: ariadne begins the line to a label's
/// remark with `|` where the caret belongs, after the `|` of the margin.
fn with_carets(line: &str) -> String {
    match line.split_once('|') {
        Some((margin, marks)) => format!("{margin}|{}", marks.replace('|', "^")),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Style = Style { colour: false, columns: None };
    const COLOURED: Style = Style { colour: true, columns: None };
    use crate::diagnostic::ErrorCode;

    fn diagnostic(text: &str, place: std::ops::Range<usize>) -> Diagnostic {
        let source = Source::new("test.kal", text);
        Diagnostic::error(ErrorCode::UnexpectedToken, &source, Span::new(place.start, place.end), "message")
    }

    /// Draws a diagnostic; returns the source line and the line of carets.
    fn shown(diagnostic: &Diagnostic) -> (String, String) {
        let drawn = draw(diagnostic, PLAIN);
        let lines: Vec<&str> = drawn.lines().collect();
        let carets = lines.iter().position(|line| line.contains('^')).expect("a caret");
        (lines[carets - 1].to_owned(), lines[carets].to_owned())
    }

    #[test]
    fn a_whole_drawing() {
        let source = Source::new("test.kal", "def f(x)\n  x + (1 * 2\n\n\nextern g()");
        let drawn =
            Diagnostic::error(ErrorCode::UnclosedParenthesis, &source, Span::new(15, 16), "never closed")
                .with_note("opened here")
                .with_label(&source, Span::new(24, 30), "noticed here")
                .with_help("write `)`");
        let expected = "\
error[E0105]: never closed
   ,-[ test.kal:2:7 ]
   |
 2 |   x + (1 * 2
   |       ^
   |       `-- opened here
   |
 5 | extern g()
   | ^^^^^^
   | `------- noticed here
   |
   | Help: write `)`
---'
";
        assert_eq!(draw(&drawn, PLAIN), expected);
    }

    #[test]
    fn warnings_and_colours() {
        let warning = diagnostic("1", 0..1).as_warning();
        assert!(draw(&warning, PLAIN).starts_with("warning[E0103]: message\n"));
        let coloured = draw(&diagnostic("1", 0..1), COLOURED);
        assert!(coloured.starts_with("\x1b[1;31merror[E0103]\x1b[0m: message\n"), "{coloured}");
        assert!(coloured.contains("test.kal:1:1"), "{coloured}");
        assert!(!draw(&diagnostic("1", 0..1), PLAIN).contains('\x1b'));
    }

    #[test]
    fn line_numbers_far_down_and_labels_in_other_sources() {
        let text = "\n".repeat(12_345) + "abc";
        let other = Source::new("other.kal", "\n\n\nxyz");
        let drawn =
            draw(&diagnostic(&text, 12_346..12_347).with_label(&other, Span::new(3, 6), "there"), PLAIN);
        let expected = "\
error[E0103]: message
       ,-[ test.kal:12346:2 ]
       |
 12346 | abc
       |  ^
       |  `-- here
       |
       |-[ other.kal:4:1 ]
       |
     4 | xyz
       | ^^^
       | `---- there
-------'
";
        assert_eq!(drawn, expected);
    }

    #[test]
    fn carets_stand_under_the_place() {
        let tab = shown(&diagnostic("\ta = )", 5..6));
        assert_eq!((tab.0.as_str(), tab.1.as_str()), (" 1 |     a = )", "   |         ^"));
        let wide = shown(&diagnostic("中文 )", 7..8));
        assert_eq!((wide.0.as_str(), wide.1.as_str()), (" 1 | 中文 )", "   |      ^"));
        let accent = shown(&diagnostic("e\u{301} )", 4..5));
        assert_eq!((accent.0.as_str(), accent.1.as_str()), (" 1 | e\u{301} )", "   |   ^"));
        for (text, place, carets) in [("e\u{301} )", 1..3, "   | ^"), ("\u{301}e", 0..2, "   | ^")] {
            assert_eq!(shown(&diagnostic(text, place)).1, carets, "{text}");
        }
    }

    #[test]
    fn the_end_of_a_text_is_a_place() {
        for (text, at, carets) in
            [("1 +", 3, "   |    ^"), ("", 0, "   | ^"), ("1\n", 2, "   | ^"), ("a  ", 3, "   |    ^")]
        {
            assert_eq!(shown(&diagnostic(text, at..at)).1, carets, "{text:?}");
        }
        assert!(draw(&diagnostic("x", 7..9), PLAIN).contains("test.kal:1:2"), "a place past the end");
    }

    #[test]
    fn places_over_lines_are_cut_to_the_first() {
        let (line, carets) = shown(&diagnostic("ab\r\ncd", 1..6));
        assert_eq!((line.as_str(), carets.as_str()), (" 1 | ab", "   |  ^^"));
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let text = "x+".repeat(5_000) + ")" + &"+x".repeat(5_000);
        let long = diagnostic(&text, 10_000..10_001);
        let (line, carets) = shown(&long);
        assert!(draw(&long, PLAIN).contains("test.kal:1:10001"));
        assert!(line.chars().count() < 400 && line.contains('…'), "{line}");
        let column = carets.find('^').unwrap();
        assert_eq!(line.chars().nth(column), Some(')'));
        let both = long.with_label(&Source::new("b", text.clone()), Span::new(0, 1), "");
        assert!(draw(&both, PLAIN).contains("b:1:1"));
    }

    #[test]
    fn drawings_fit_the_columns() {
        let text = "x + ".repeat(20) + "place" + &" + x".repeat(20);
        for (start, columns) in [(0, 80), (80, 80), (162, 80), (80, 40), (80, 34)] {
            let style = Style { colour: false, columns: Some(columns) };
            let drawn = draw(&diagnostic(&text, start..start + 2), style);
            let line = drawn.lines().find(|line| line.starts_with(" 1 |")).expect("the source line");
            let carets = drawn.lines().find(|line| line.contains('^')).expect("the carets");
            let under: String = line.chars().skip(carets.find('^').unwrap_or(0)).take(2).collect();
            assert_eq!(under, text[start..start + 2], "{drawn}");
            let width = line.chars().count();
            assert!(width <= columns && width + 12 > columns, "{drawn}");
        }
    }

    #[test]
    fn control_characters_are_never_written() {
        let drawn = draw(&diagnostic("a \x1b[31m\x07\u{202e} b\x0B\u{2028}c", 2..3), PLAIN);
        assert!(drawn.contains("a ␛[31m␇\u{fffd} b␋\u{fffd}c"), "{drawn}");
        let source = Source::new("te\x1bst", "x");
        let named = Diagnostic::error(ErrorCode::UnexpectedToken, &source, Span::new(0, 1), "m\x1b")
            .with_help("\x1b");
        assert!(draw(&named, PLAIN).chars().all(|character| character == '\n' || !character.is_control()));
    }

    #[test]
    fn as_json() {
        let source = Source::new("a \"b\"", "1\n  é )");
        let found = Diagnostic::error(ErrorCode::UnexpectedToken, &source, Span::new(7, 8), "unexpected `)`")
            .with_label(&source, Span::new(0, 1), "there")
            .with_help("try\nthis");
        let expected = concat!(
            r#"{"code":"E0103","severity":"error","message":"unexpected `)`","file":"a \"b\"","line":2,"column":5,"#,
            r#""end_line":2,"end_column":6,"note":"","labels":[{"file":"a \"b\"","line":2,"column":5,"end_line":2,"#,
            r#""end_column":6,"note":""},{"file":"a \"b\"","line":1,"column":1,"end_line":1,"end_column":2,"#,
            r#""note":"there"}],"help":"try\nthis"}"#
        );
        assert_eq!(json(&found), expected);
    }
}

//! Drawing diagnostics for people, and writing them for programs.
//!
//! annotate-snippets draws. It is given only the part of each line with labels
//! that the screen could show, without control characters, so the size of the
//! source does not matter. Nothing here decides what a message says.

use super::visible::{visible_lines, visible_text};
use super::{Diagnostic, Label, Severity};
use crate::source::Source;
use annotate_snippets::renderer::{AnsiColor, DecorStyle};
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Padding, Renderer, Snippet};
use serde::Serialize;
use std::fmt;
use std::ops::Range;
use unicode_width::UnicodeWidthStr;

/// How a diagnostic is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Style {
    /// Whether escape sequences add colour.
    pub colour: bool,
    /// The width in columns; `None` if the output is not a terminal.
    pub columns: Option<usize>,
}

/// The width in columns if the output is not a terminal.
const DEFAULT_WIDTH: usize = 320;
/// The width of lines on a screen that is narrower.
const SHORTEST_WIDTH: usize = 32;
/// The width of lines on a screen that is wider.
const LONGEST_WIDTH: usize = 1 << 16;
/// The columns for the line number and the marks of a cut.
const MARGIN: usize = 20;
/// The bytes of a place that are marked on the narrowest of screens.
const SHORTEST_MARK: usize = 8;
/// The most bytes that one column takes.
const BYTES_PER_COLUMN: usize = 4;

/// Returns the diagnostic with its source lines, for a terminal: several lines,
/// each with its line feed.
pub fn draw(diagnostic: &Diagnostic, style: Style) -> String {
    let width = style.columns.unwrap_or(DEFAULT_WIDTH).clamp(SHORTEST_WIDTH, LONGEST_WIDTH);
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    // A primary title without elements would be followed by an empty line.
    let title = level.clone().secondary_title(visible_text(&diagnostic.message));
    let mut groups = vec![Group::with_title(title.id(diagnostic.code.to_string()))];
    // Positions have groups of their own: a snippet with a path would count
    // columns from the start of its text, which may be the middle of a line.
    let mut origin = None;
    for row in Row::all(&diagnostic.labels, width) {
        let group = Group::with_level(level.clone());
        if origin != Some(row.origin) {
            let gap = origin.map(|_| Padding);
            groups.push(group.clone().elements(gap).element(row.origin()));
            origin = Some(row.origin);
        }
        groups.push(group.element(row.snippet(&diagnostic.labels[0], width)));
    }
    if let Some(help) = &diagnostic.help {
        let message = Level::HELP.message(visible_text(help));
        groups.push(Group::with_level(level).element(Padding).element(message));
    }
    renderer(style.colour).term_width(width).render(&groups) + "\n" + &trace(&diagnostic.trace)
}

/// Returns the renderer; its colours are those that every colour terminal has.
fn renderer(colour: bool) -> Renderer {
    if !colour {
        return Renderer::plain().decor_style(DecorStyle::Ascii);
    }
    Renderer::styled()
        .decor_style(DecorStyle::Ascii)
        .error(AnsiColor::Red.on_default().bold())
        .warning(AnsiColor::Yellow.on_default().bold())
        .context(AnsiColor::Blue.on_default())
        .line_num(AnsiColor::BrightBlack.on_default())
        .emphasis(AnsiColor::Cyan.on_default())
}

/// A line, or a part of a long one, with the labels under it.
struct Row<'d> {
    /// The first label of the source.
    origin: &'d Label,
    /// The labels with the part of their place that is marked.
    labels: Vec<(&'d Label, Range<usize>)>,
    /// From where the first place starts to where the last ends, in bytes of
    /// the source.
    extent: Range<usize>,
}

impl<'d> Row<'d> {
    /// Returns the rows of all labels: those of the first label's source first,
    /// and those of each source in the order of its text.
    fn all(labels: &'d [Label], width: usize) -> Vec<Self> {
        let mut rows: Vec<Self> = Vec::new();
        for label in labels {
            let place = place(label, width);
            if let Some(row) = rows.iter_mut().find(|row| row.has_room(label, &place, width)) {
                row.extent = cover(&row.extent, &place);
                row.labels.push((label, place));
            } else {
                let origin = labels.iter().find(|other| other.source == label.source).unwrap_or(label);
                rows.push(Row { origin, extent: place.clone(), labels: vec![(label, place)] });
            }
        }
        let source = |row: &Row<'_>| labels.iter().position(|label| std::ptr::eq(label, row.origin));
        rows.sort_by_key(|row| (source(row), row.extent.start));
        rows
    }

    /// Returns whether a label is on the same line and near enough.
    fn has_room(&self, label: &Label, place: &Range<usize>, width: usize) -> bool {
        let (start, other) = (self.extent.start, place.start);
        self.origin.source == label.source
            && cover(&self.extent, place).len() <= width.saturating_sub(MARGIN)
            && !label.source.text()[start.min(other)..start.max(other)].contains('\n')
    }

    /// Returns the line that names the source and the position in it.
    fn origin(&self) -> Origin<'static> {
        let (line, column) = self.origin.source.position(self.origin.span.start);
        Origin::path(visible_text(self.origin.source.name())).line(line).char_column(column)
    }

    /// Returns the text with its labels. On both sides it is wider than the
    /// screen if the line is, so that the cuts are marked.
    fn snippet(&self, primary: &Label, width: usize) -> Snippet<'static, Annotation<'static>> {
        let source = &self.origin.source;
        let text = source.text();
        let line = line_around(source, self.extent.start);
        let reach = width.saturating_mul(BYTES_PER_COLUMN);
        let start = text.floor_char_boundary(self.extent.start.saturating_sub(reach)).max(line.start);
        let end = text.floor_char_boundary(self.extent.end.saturating_add(reach)).min(line.end);
        let mut shown = visible_lines(&text[start..end]);
        let at = |offset: usize| visible_lines(&text[start..offset]).len();
        let mut annotations = Vec::new();
        let mut remarks_end = 0;
        for (label, place) in &self.labels {
            let (from, to) = (at(place.start), at(place.end));
            // A combining character is drawn over the one before.
            let is_combining = from < to && shown[from..to].width() == 0;
            let before = shown[..from].char_indices().next_back().filter(|_| is_combining);
            let is_primary = std::ptr::eq(primary, *label);
            let kind = if is_primary { AnnotationKind::Primary } else { AnnotationKind::Context };
            let remark = (!label.message.is_empty()).then(|| visible_text(&label.message));
            annotations.push(kind.span(before.map_or(from, |(at, _)| at)..to).label(remark));
            remarks_end = remarks_end.max(columns(&shown[..to]) + label.message.width());
        }
        let (number, _) = source.position(start as u32);
        let room = width.saturating_sub(number.to_string().len() + " | ".len());
        // The renderer cuts a line that is too long, not one whose remarks are:
        // blanks make it too long.
        if remarks_end >= room {
            shown += &" ".repeat((room + 1).saturating_sub(columns(&shown)));
        }
        Snippet::source(shown).line_start(number).annotations(annotations)
    }
}

/// Returns the width of a text; a tab is drawn as four blanks.
fn columns(text: &str) -> usize {
    text.width() + 3 * text.matches('\t').count()
}

/// Returns the part of a label's place that is marked, at most its first line.
fn place(label: &Label, width: usize) -> Range<usize> {
    let text = label.source.text();
    let start = text.floor_char_boundary(label.span.start as usize);
    let line = line_around(&label.source, start);
    let start = start.min(line.end);
    let room = width.saturating_sub(MARGIN + label.message.width()).max(SHORTEST_MARK);
    let end = (label.span.end as usize).clamp(start, line.end).min(start + room);
    start..text.floor_char_boundary(end)
}

/// Returns the line of a byte offset, without its end.
fn line_around(source: &Source, offset: usize) -> Range<usize> {
    let (before, after) = source.text().split_at(offset);
    let line = after.split('\n').next().unwrap_or(after);
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let end = offset + line.len();
    start..end - usize::from(source.text()[start..end].ends_with('\r'))
}

fn cover(one: &Range<usize>, other: &Range<usize>) -> Range<usize> {
    one.start.min(other.start)..one.end.max(other.end)
}

/// Returns the call trace, one call a line.
fn trace(calls: &[String]) -> String {
    let lines = calls.iter().enumerate().map(|(index, call)| {
        format!("{}{}\n", if index == 0 { "  Calls: " } else { "         " }, visible_text(call))
    });
    lines.collect()
}

/// Returns the diagnostic as a JSON object on one line, without a line feed.
pub fn json(diagnostic: &Diagnostic) -> String {
    let labels: Vec<JsonPlace<'_>> = diagnostic.labels.iter().map(JsonPlace::new).collect();
    let record = Record {
        code: Some(diagnostic.code.to_string()),
        severity: diagnostic.severity.to_string(),
        message: &diagnostic.message,
        place: labels.first().cloned(),
        labels,
        help: diagnostic.help.as_deref(),
        trace: &diagnostic.trace,
    };
    serde_json::to_string(&record).unwrap_or_default()
}

/// Returns what is wrong with a whole file in the same form: at its beginning, without a code.
#[cfg(feature = "cli")]
pub fn json_of_file(file: &str, message: &str) -> String {
    let record = Record {
        code: None,
        severity: Severity::Error.to_string(),
        message,
        place: Some(JsonPlace { file, line: 1, column: 1, end_line: 1, end_column: 1, message: "" }),
        labels: Vec::new(),
        help: None,
        trace: &[],
    };
    serde_json::to_string(&record).unwrap_or_default()
}

#[derive(Serialize)]
struct Record<'d> {
    code: Option<String>,
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

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Style = Style { colour: false, columns: None };
    const COLOURED: Style = Style { colour: true, columns: None };
    use crate::diagnostic::ErrorCode;
    use crate::source::Span;

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
 --> test.kal:2:7
  |
2 |   x + (1 * 2
  |       ^ opened here
  |
5 | extern g()
  | ------ noticed here
  |
  = help: write `)`
";
        assert_eq!(draw(&drawn, PLAIN), expected);
    }

    #[test]
    fn warnings_and_colours() {
        let warning = diagnostic("1", 0..1).as_warning();
        assert!(draw(&warning, PLAIN).starts_with("warning[E0103]: message\n"));
        let coloured = draw(&diagnostic("1", 0..1), COLOURED);
        assert!(coloured.starts_with("\x1b[1m\x1b[31merror[E0103]\x1b[0m: message\n"), "{coloured}");
        assert!(coloured.contains("test.kal:1:1"), "{coloured}");
        assert!(!coloured.contains("\x1b[38;"), "a colour of the palette of 256: {coloured}");
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
     --> test.kal:12346:2
      |
12346 | abc
      |  ^
      |
     --> other.kal:4:1
      |
    4 | xyz
      | --- there
";
        assert_eq!(drawn, expected);
    }

    #[test]
    fn several_labels_on_a_line() {
        let source = Source::starting_at("test.kal", "foo(bar, 1)\nfoo(2)", (3, 11));
        let drawn = Diagnostic::error(ErrorCode::WrongArity, &source, Span::new(0, 3), "message")
            .with_note("takes 3")
            .with_label(&source, Span::new(4, 7), "one")
            .with_label(&source, Span::new(12, 15), "again");
        let expected = "\
error[E0205]: message
 --> test.kal:3:11
  |
3 | foo(bar, 1)
  | ^^^ --- one
  | |
  | takes 3
  |
4 | foo(2)
  | --- again
";
        assert_eq!(draw(&drawn, PLAIN), expected);
    }

    #[test]
    fn labels_far_from_each_other_are_all_shown() {
        let text = "x + ".repeat(1_000) + "place" + &" + x".repeat(1_000);
        let source = Source::new("test.kal", text);
        let found =
            Diagnostic::error(ErrorCode::UnexpectedToken, &source, Span::new(4_000, 4_005), "message")
                .with_label(&source, Span::new(0, 2_000), "a long place");
        for columns in [0, 20, 80, 1_000, usize::MAX] {
            let drawn = draw(&found, Style { colour: false, columns: Some(columns) });
            assert!(drawn.contains("place +") && drawn.contains("- a long place"), "{drawn}");
            let widest = drawn.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(columns.max(SHORTEST_WIDTH)), "{drawn}");
        }
        let combining = "e\u{301}\u{301}\u{301}".repeat(1_000) + ")";
        assert!(draw(&diagnostic(&combining, 7_000..7_001), PLAIN).contains("test.kal:1:4001"));
    }

    #[test]
    fn carets_stand_under_the_place() {
        let tab = shown(&diagnostic("\ta = )", 5..6));
        assert_eq!((tab.0.as_str(), tab.1.as_str()), ("1 |     a = )", "  |         ^"));
        let wide = shown(&diagnostic("中文 )", 7..8));
        assert_eq!((wide.0.as_str(), wide.1.as_str()), ("1 | 中文 )", "  |      ^"));
        let accent = shown(&diagnostic("e\u{301} )", 4..5));
        assert_eq!((accent.0.as_str(), accent.1.as_str()), ("1 | e\u{301} )", "  |   ^"));
        for (text, place, carets) in [("e\u{301} )", 1..3, "  | ^"), ("\u{301}e", 0..2, "  | ^")] {
            assert_eq!(shown(&diagnostic(text, place)).1, carets, "{text}");
        }
    }

    #[test]
    fn the_end_of_a_text_is_a_place() {
        for (text, at, carets) in
            [("1 +", 3, "  |    ^"), ("", 0, "  | ^"), ("1\n", 2, "  | ^"), ("a  ", 3, "  |    ^")]
        {
            assert_eq!(shown(&diagnostic(text, at..at)).1, carets, "{text:?}");
        }
        assert!(draw(&diagnostic("x", 7..9), PLAIN).contains("test.kal:1:2"), "a place past the end");
    }

    #[test]
    fn places_over_lines_are_cut_to_the_first() {
        let (line, carets) = shown(&diagnostic("ab\r\ncd", 1..6));
        assert_eq!((line.as_str(), carets.as_str()), ("1 | ab", "  |  ^"));
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let text = "x+".repeat(5_000) + ")" + &"+x".repeat(5_000);
        let long = diagnostic(&text, 10_000..10_001);
        let (line, carets) = shown(&long);
        assert!(draw(&long, PLAIN).contains("test.kal:1:10001"));
        assert!(line.chars().count() < 400 && line.contains("..."), "{line}");
        let column = carets.find('^').unwrap();
        assert_eq!(line.chars().nth(column), Some(')'));
        let both = long.with_label(&Source::new("b", text.clone()), Span::new(0, 1), "");
        assert!(draw(&both, PLAIN).contains("b:1:1"));
    }

    #[test]
    fn drawings_fit_the_columns() {
        let text = "x + ".repeat(20) + "place" + &" + x".repeat(20);
        // At the end of a line only half of the screen is used.
        for (start, columns, least) in [(0, 80, 69), (80, 80, 69), (162, 80, 40), (80, 40, 29), (80, 34, 23)]
        {
            let style = Style { colour: false, columns: Some(columns) };
            let drawn = draw(&diagnostic(&text, start..start + 2), style);
            let line = drawn.lines().find(|line| line.starts_with("1 |")).expect("the source line");
            let carets = drawn.lines().find(|line| line.contains('^')).expect("the carets");
            let under: String = line.chars().skip(carets.find('^').unwrap_or(0)).take(2).collect();
            assert_eq!(under, text[start..start + 2], "{drawn}");
            let width = line.chars().count();
            assert!(width <= columns && width >= least, "{drawn}");
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

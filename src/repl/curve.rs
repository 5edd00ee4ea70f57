//! Curves: samples of functions, the part of the plane that shows them, and
//! their picture in characters.

use crate::terminal::palette::{self, paint};

/// A function sampled at evenly spaced places.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    /// The expression that is drawn.
    pub(super) label: String,
    /// The first and the last place of the samples.
    pub(super) domain: (f64, f64),
    /// The samples; those that are not finite are gaps.
    pub(super) values: Vec<f64>,
}

impl Curve {
    /// Returns the range of values that a picture shows: all of them, unless a
    /// few would flatten the rest, as at a pole. `None` if there are no finite
    /// ones.
    pub(super) fn range(&self) -> Option<(f64, f64)> {
        let mut finite: Vec<f64> = self.values.iter().copied().filter(|value| value.is_finite()).collect();
        finite.sort_by(f64::total_cmp);
        let (lowest, highest) = (*finite.first()?, *finite.last()?);
        let at = |share: f64| finite[((finite.len() - 1) as f64 * share) as usize];
        let (low, high) = (at(0.05), at(0.95));
        let margin = (high - low) * 0.5;
        let is_flattened = high > low && highest - lowest > 8.0 * (high - low);
        let (low, high) = if is_flattened { (low - margin, high + margin) } else { (lowest, highest) };
        // A few units in the last place are noise, not a shape.
        if high - low > low.abs().max(high.abs()) * 1e-14 {
            return Some((low, high));
        }
        let room = if low == 0.0 { 1.0 } else { low.abs() * 0.5 };
        Some((low - room, high + room))
    }

    /// Returns the places of the samples.
    pub(super) fn places(&self) -> impl Iterator<Item = f64> + '_ {
        let (from, to) = self.domain;
        let last = (self.values.len().max(2) - 1) as f64;
        (0..self.values.len()).map(move |index| from + (to - from) * (index as f64 / last))
    }
}

/// Returns the expressions of curves, as a title.
pub(super) fn labels(curves: &[Curve]) -> String {
    let labels: Vec<&str> = curves.iter().map(|curve| curve.label.as_str()).collect();
    labels.join(", ")
}

/// Returns the range of values that a picture of several curves shows.
pub(super) fn range(curves: &[Curve]) -> Option<(f64, f64)> {
    let ranges = curves.iter().filter_map(Curve::range);
    ranges.reduce(|(low, high), (lower, higher)| (low.min(lower), high.max(higher))).map(snapped)
}

/// Returns about `count` round numbers between two limits, with their labels.
pub(super) fn labelled_ticks(limits: (f64, f64), count: usize) -> Vec<(f64, String)> {
    let marks = ticks(limits, count);
    let step = marks.windows(2).map(|pair| pair[1] - pair[0]).next();
    let text = |mark: &f64| (*mark, tick_text(*mark, step.unwrap_or(*mark)));
    marks.iter().map(text).collect()
}

/// Returns about `count` round numbers between two limits.
fn ticks((low, high): (f64, f64), count: usize) -> Vec<f64> {
    let rough = (high - low) / count.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= rough);
    let Some(step) = step.filter(|step| step.is_normal()) else { return Vec::new() };
    let (first, last) = ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor());
    if last - first > 1000.0 {
        return Vec::new();
    }
    // Adding 0 makes -0 a 0.
    (0..=(last - first) as usize).map(|index| (first + index as f64) * step + 0.0).collect()
}

/// Returns the limits, moved outwards to round numbers if these are near.
fn snapped((low, high): (f64, f64)) -> (f64, f64) {
    let near = (high - low) / 20.0;
    let marks = ticks((low - near, high + near), 5);
    let beyond = |mark: Option<&f64>| mark.copied().filter(|mark| *mark < low || *mark > high);
    (beyond(marks.first()).unwrap_or(low), beyond(marks.last()).unwrap_or(high))
}

/// Returns a tick's label: the digits that distinguish it from others a step
/// away.
fn tick_text(value: f64, step: f64) -> String {
    let magnitude = |number: f64| (number.abs().log10() + 1e-9).floor();
    let digits = (magnitude(value) - magnitude(step)).clamp(0.0, 17.0);
    let text = format!("{value:.*e}", digits as usize);
    let rounded: f64 = text.parse().unwrap_or(value);
    crate::host::decimal::format_number(rounded)
}

/// Returns the curves in Braille characters, with axes, `width` columns wide.
/// Several curves differ in their colours, or without colours in their dashes, and more than two
/// in letters as well.
pub(super) fn draw(curves: &[Curve], width: usize, has_color: bool) -> Option<String> {
    let range = range(curves)?;
    let domain = curves.first()?.domain;
    let rows = (width / 5).clamp(8, 20);
    let labels: Vec<(usize, String)> = labelled_ticks(range, rows / 3)
        .into_iter()
        .map(|(mark, text)| (row(mark, range, rows), text))
        .collect();
    let margin = labels.iter().map(|(_, label)| label.chars().count()).max().unwrap_or_default();
    let columns = width.saturating_sub(margin + 3).max(10);
    let mut canvas = Canvas::new(columns, rows);
    for (number, curve) in curves.iter().enumerate() {
        canvas.curve(curve, range, Pen { number, is_dashed: !has_color, drawn: 0.0 });
    }
    let has_letters = !has_color && curves.len() > 2;
    for (number, curve) in curves.iter().enumerate().filter(|_| has_letters) {
        canvas.letters(curve, range, letter(number), LETTERS * number / curves.len());
    }
    let colors = (has_color && curves.len() > 1).then_some(palette::CURVES);
    let zero = (range.0 < 0.0 && range.1 > 0.0).then(|| row(0.0, range, rows));
    let mut picture = String::new();
    for line in 0..rows {
        let label = labels.iter().find(|(at, _)| *at == line).map_or("", |(_, label)| label);
        let axis = if label.is_empty() { '│' } else { '┤' };
        picture += &format!("{label:>margin$} {axis}");
        let empty = if zero == Some(line) { '┈' } else { ' ' };
        picture.push_str(&canvas.line(line, empty, colors));
        picture.truncate(picture.trim_end().len());
        picture.push('\n');
    }
    picture.push_str(&foot(domain, margin, columns));
    if curves.len() > 1 {
        picture += &format!("\n{:>margin$}  {}", "", legend(curves, colors, has_letters));
    }
    Some(picture)
}

/// The columns from one letter of a curve to the next.
const LETTERS: usize = 12;

/// Returns the letter that a curve has without colours.
fn letter(number: usize) -> char {
    char::from(b'a' + (number % 26) as u8)
}

/// Returns the legend: how each curve looks.
fn legend(curves: &[Curve], colors: Option<&[&str]>, has_letters: bool) -> String {
    let entry = |(number, curve): (usize, &Curve)| match colors {
        Some(colors) => paint(colors[number % colors.len()], &format!("── {}", curve.label)),
        None if has_letters => format!("{} {}", letter(number), curve.label),
        None => format!("{} {}", ["──", "╌╌"][number.min(1)], curve.label),
    };
    let entries: Vec<String> = curves.iter().enumerate().map(entry).collect();
    entries.join("   ")
}

/// Returns the character row that shows a value; 0 is the top.
fn row(value: f64, (low, high): (f64, f64), rows: usize) -> usize {
    let share = ((high - value) / (high - low)).clamp(0.0, 1.0);
    ((share * (rows * 4 - 1) as f64).round() as usize) / 4
}

/// Returns the horizontal axis and its labels.
fn foot(domain: (f64, f64), margin: usize, columns: usize) -> String {
    let (from, to) = domain;
    let mut axis: Vec<char> = vec!['─'; columns];
    let mut labels: Vec<char> = vec![' '; columns];
    for (mark, text) in labelled_ticks(domain, columns / 12) {
        let at = ((mark - from) / (to - from) * (columns - 1) as f64).round() as usize;
        let text: Vec<char> = text.chars().collect();
        let start = at.saturating_sub(text.len() / 2).min(columns.saturating_sub(text.len()));
        let room = start.saturating_sub(1)..(start + text.len() + 1).min(columns);
        if labels[room].iter().all(|character| *character == ' ') {
            labels[start..start + text.len()].copy_from_slice(&text);
            axis[at.min(columns - 1)] = '┬';
        }
    }
    let (axis, labels) = (String::from_iter(axis), String::from_iter(labels));
    format!("{:>margin$} └{axis}\n{:>margin$}  {}", "", "", labels.trim_end())
}

/// A field of dots, two by four to a character.
struct Canvas {
    columns: usize,
    rows: usize,
    /// The dots of each character.
    cells: Vec<u8>,
    /// The curve that was drawn last in each character.
    owners: Vec<usize>,
    /// The letter in place of the dots of a character.
    letters: Vec<Option<char>>,
}

/// The pen that draws a curve.
#[derive(Clone, Copy)]
struct Pen {
    /// The number of the curve.
    number: usize,
    /// Whether curves after the first have gaps.
    is_dashed: bool,
    /// The length of what it has drawn, in dots.
    drawn: f64,
}

impl Pen {
    /// Returns whether it leaves a mark after `more` further dots.
    fn marks(self, more: f64) -> bool {
        let (dash, gap) = match self.number {
            1 if self.is_dashed => (7.0, 7.0),
            2.. if self.is_dashed => (2.0, 4.0),
            _ => return true,
        };
        (self.drawn + more) % (dash + gap) < dash
    }
}

impl Canvas {
    fn new(columns: usize, rows: usize) -> Self {
        let count = columns * rows;
        Self { columns, rows, cells: vec![0; count], owners: vec![0; count], letters: vec![None; count] }
    }

    fn curve(&mut self, curve: &Curve, (low, high): (f64, f64), mut pen: Pen) {
        let (width, height) = ((self.columns * 2 - 1) as f64, (self.rows * 4 - 1) as f64);
        let last = (curve.values.len().max(2) - 1) as f64;
        let mut before: Option<(f64, f64)> = None;
        for (index, value) in curve.values.iter().enumerate() {
            let here = value
                .is_finite()
                .then(|| (index as f64 / last * width, (high - value) / (high - low) * height));
            if let Some(to) = here {
                let from = before.unwrap_or(to);
                // From one edge to the other in one step is a pole, not a line.
                let is_pole = from.1.min(to.1) < 0.0 && from.1.max(to.1) > height;
                let from = if is_pole { to } else { from };
                self.line_between(from, to, pen);
                pen.drawn += length(from, to);
            }
            before = here;
        }
    }

    /// Puts a letter on a curve now and then, from a column on, unless another one is there.
    fn letters(&mut self, curve: &Curve, (low, high): (f64, f64), letter: char, from: usize) {
        let last = (curve.values.len().max(1) - 1) as f64;
        let share = last / (self.columns.max(2) - 1) as f64;
        for column in (from..self.columns).step_by(LETTERS) {
            let value = curve.values.get((column as f64 * share).round() as usize);
            if let Some(value) = value.filter(|value| (low..=high).contains(value)) {
                let cell = row(*value, (low, high), self.rows) * self.columns + column;
                self.letters[cell].get_or_insert(letter);
            }
        }
    }

    fn line_between(&mut self, from: (f64, f64), to: (f64, f64), pen: Pen) {
        let most = (self.rows * 4) as f64;
        let steps = (to.1 - from.1).abs().max((to.0 - from.0).abs()).clamp(1.0, 4.0 * most).ceil();
        for step in 0..=steps as usize {
            let share = step as f64 / steps;
            if pen.marks(length(from, to) * share) {
                self.dot(from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share, pen.number);
            }
        }
    }

    fn dot(&mut self, x: f64, y: f64, owner: usize) {
        /// The bit of each dot of a Braille character, by line and column.
        const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        let (x, y) = (x.round(), y.round());
        if x < 0.0 || y < 0.0 {
            return;
        }
        let (x, y) = (x as usize, y as usize);
        if x < self.columns * 2 && y < self.rows * 4 {
            let cell = y / 4 * self.columns + x / 2;
            self.cells[cell] |= BITS[y % 4][x % 2];
            self.owners[cell] = owner;
        }
    }

    fn line(&self, row: usize, empty: char, colors: Option<&[&str]>) -> String {
        let cells = row * self.columns..(row + 1) * self.columns;
        let character = |cell: usize| match (self.cells[cell], colors) {
            (_, None) if self.letters[cell].is_some() => String::from_iter(self.letters[cell]),
            (0, _) => empty.to_string(),
            (dots, None) => braille(dots).to_string(),
            (dots, Some(colors)) => {
                paint(colors[self.owners[cell] % colors.len()], &braille(dots).to_string())
            }
        };
        cells.map(character).collect()
    }
}

fn length(from: (f64, f64), to: (f64, f64)) -> f64 {
    (to.0 - from.0).hypot(to.1 - from.1)
}

fn braille(dots: u8) -> char {
    char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within() {
        assert_eq!(ticks((-1.0, 1.0), 4), [-1.0, -0.5, 0.0, 0.5, 1.0]);
        assert_eq!(ticks((0.0, 6.2), 6), [0.0, 2.0, 4.0, 6.0]);
        assert_eq!(tick_text(0.1 + 0.2, 0.1), "0.3");
        assert_eq!(tick_text(2e20, 5e19), "2e20");
        assert!(ticks((1.0, 1.0), 4).is_empty());
        assert!(ticks((f64::NAN, 1.0), 4).is_empty());
    }

    #[test]
    fn ticks_differ_where_the_range_is_tiny_beside_the_offset() {
        for (low, high) in [(5.0, 5.0 + 1e-9), (1e6, 1e6 + 0.01), (-7.0, -7.0 + 3e-12)] {
            let texts: Vec<String> =
                labelled_ticks((low, high), 5).into_iter().map(|(_, text)| text).collect();
            let values: Vec<f64> = texts.iter().map(|text| text.parse().unwrap()).collect();
            assert!(texts.len() > 2 && values.is_sorted_by(|one, next| one < next), "{texts:?}");
            assert!(values.iter().all(|value| *value >= low && *value <= high), "{texts:?}");
        }
    }

    #[test]
    fn several_curves_are_told_apart() {
        let curve = |label: &str, slope: f64| Curve {
            label: label.into(),
            domain: (0.0, 1.0),
            values: (0..400).map(|index| f64::from(index) * slope).collect(),
        };
        let (one, two) = (curve("up", 1.0), curve("down", -1.0));
        let dots = |picture: &str| picture.chars().filter(|letter| ('⠀'..='⣿').contains(letter)).count();
        let plain = draw(&[one.clone(), two.clone()], 80, false).unwrap();
        assert!(plain.ends_with("── up   ╌╌ down"), "{plain}");
        let half = plain.lines().count() / 2;
        let part = |lines: Vec<&str>| dots(&lines.concat());
        let (upper, lower) = (plain.lines().take(half).collect(), plain.lines().skip(half).collect());
        assert!(part(upper) > part(lower) * 5 / 4, "{plain}");
        let three = draw(&[one.clone(), two.clone(), curve("flat", 0.0)], 80, false).unwrap();
        assert!(three.ends_with("a up   b down   c flat"), "{three}");
        let picture = three.lines().filter(|line| line.contains(['│', '┤']));
        let places = |letter| {
            let rows = picture.clone().enumerate();
            rows.filter(|(_, line)| line.contains(letter)).map(|(row, _)| row).collect::<Vec<_>>()
        };
        // One falls from the top, one rises to it, and one stays in the middle.
        let (up, down, flat) = (places('a'), places('b'), places('c'));
        assert!(up.len() > 4 && down.len() > 4 && flat.len() == 1, "{three}");
        assert!(up.last() <= flat.first() && flat.last() <= down.first(), "{three}");
        let colored = draw(&[one, two], 80, true).unwrap();
        for color in &palette::CURVES[..2] {
            assert!(colored.matches(color).count() > 30, "{colored}");
        }
    }

    #[test]
    fn a_line_goes_from_corner_to_corner() {
        let curve = Curve { label: String::new(), domain: (0.0, 1.0), values: vec![0.0, 0.5, 1.0] };
        let picture = draw(&[curve], 40, false).unwrap();
        let lines: Vec<&str> = picture.lines().collect();
        assert_eq!(lines.len(), 8 + 2);
        assert!(lines[0].starts_with("  1 ┤"), "{picture}");
        assert!(lines[7].starts_with("  0 ┤"), "{picture}");
        assert!(lines.iter().all(|line| line.chars().count() <= 40), "{picture}");
    }

    #[test]
    fn poles_do_not_flatten_the_rest() {
        let values = (0..1000).map(|index| (f64::from(index) * 0.01).tan()).collect();
        let (low, high) = Curve { label: String::new(), domain: (0.0, 10.0), values }.range().unwrap();
        assert!(low > -50.0 && high < 50.0, "{low} {high}");
    }

    #[test]
    fn what_has_no_finite_value_has_no_picture() {
        let curve = Curve { label: String::new(), domain: (0.0, 1.0), values: vec![f64::NAN, f64::INFINITY] };
        assert!(draw(&[curve], 80, false).is_none());
        let constant = Curve { label: String::new(), domain: (0.0, 1.0), values: vec![5.0; 10] };
        assert!(draw(&[constant], 80, false).is_some());
    }
}

//! Curves: samples of a function, the part of the plane that shows them, and
//! their picture in characters.

/// A function sampled at evenly spaced places.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    /// Where it is sampled, first and last.
    pub(super) domain: (f64, f64),
    /// The values; those that are no finite number are gaps.
    pub(super) values: Vec<f64>,
}

impl Curve {
    /// The values that a picture shows, lowest and highest: all of them,
    /// unless a few would flatten the rest, as at a pole. `None` if there are
    /// no finite ones.
    pub(super) fn range(&self) -> Option<(f64, f64)> {
        let mut finite: Vec<f64> = self.values.iter().copied().filter(|value| value.is_finite()).collect();
        finite.sort_by(f64::total_cmp);
        let (lowest, highest) = (*finite.first()?, *finite.last()?);
        let at = |share: f64| finite[((finite.len() - 1) as f64 * share) as usize];
        let (low, high) = (at(0.05), at(0.95));
        let margin = (high - low) * 0.5;
        let is_flattened = high > low && highest - lowest > 8.0 * (high - low);
        let (low, high) = if is_flattened { (low - margin, high + margin) } else { (lowest, highest) };
        if high > low {
            return Some((low, high));
        }
        let room = if low == 0.0 { 1.0 } else { low.abs() * 0.5 };
        Some((low - room, high + room))
    }

    /// Where it is sampled.
    pub(super) fn places(&self) -> impl Iterator<Item = f64> + '_ {
        let (from, to) = self.domain;
        let last = (self.values.len().max(2) - 1) as f64;
        (0..self.values.len()).map(move |index| from + (to - from) * (index as f64 / last))
    }
}

/// Round numbers between two limits, about `count` of them.
pub(super) fn ticks((low, high): (f64, f64), count: usize) -> Vec<f64> {
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

/// The limits, moved outwards to round numbers that are near.
pub(super) fn snapped((low, high): (f64, f64)) -> (f64, f64) {
    let near = (high - low) / 20.0;
    let marks = ticks((low - near, high + near), 5);
    let beyond = |mark: Option<&f64>| mark.copied().filter(|mark| *mark < low || *mark > high);
    (beyond(marks.first()).unwrap_or(low), beyond(marks.last()).unwrap_or(high))
}

/// A tick's text, without the digits that rounding has left.
pub(super) fn tick_text(value: f64) -> String {
    let text = format!("{value:.4e}");
    let rounded: f64 = text.parse().unwrap_or(value);
    crate::output::format_number(rounded)
}

/// The curve in Braille characters, with axes, `width` columns wide.
pub(super) fn draw(curve: &Curve, width: usize) -> Option<String> {
    let range = snapped(curve.range()?);
    let rows = (width / 5).clamp(8, 20);
    let marks = ticks(range, rows / 3);
    let labels: Vec<(usize, String)> =
        marks.iter().map(|mark| (row(*mark, range, rows), tick_text(*mark))).collect();
    let margin = labels.iter().map(|(_, label)| label.chars().count()).max().unwrap_or_default();
    let columns = width.saturating_sub(margin + 3).max(10);
    let mut canvas = Canvas::new(columns, rows);
    canvas.curve(curve, range);
    let zero = (range.0 < 0.0 && range.1 > 0.0).then(|| row(0.0, range, rows));
    let mut picture = String::new();
    for line in 0..rows {
        let label = labels.iter().find(|(at, _)| *at == line).map_or("", |(_, label)| label);
        let axis = if label.is_empty() { '│' } else { '┤' };
        picture += &format!("{label:>margin$} {axis}");
        picture.push_str(&canvas.line(line, if zero == Some(line) { '┈' } else { ' ' }));
        picture.truncate(picture.trim_end().len());
        picture.push('\n');
    }
    picture.push_str(&foot(curve.domain, margin, columns));
    Some(picture)
}

/// The character row that shows a value; 0 is the top.
fn row(value: f64, (low, high): (f64, f64), rows: usize) -> usize {
    let share = ((high - value) / (high - low)).clamp(0.0, 1.0);
    ((share * (rows * 4 - 1) as f64).round() as usize) / 4
}

/// The horizontal axis and its labels.
fn foot(domain: (f64, f64), margin: usize, columns: usize) -> String {
    let (from, to) = domain;
    let mut axis: Vec<char> = vec!['─'; columns];
    let mut labels: Vec<char> = vec![' '; columns];
    for mark in ticks(domain, columns / 12) {
        let at = ((mark - from) / (to - from) * (columns - 1) as f64).round() as usize;
        let text: Vec<char> = tick_text(mark).chars().collect();
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
    cells: Vec<u8>,
}

impl Canvas {
    fn new(columns: usize, rows: usize) -> Self {
        Self { columns, rows, cells: vec![0; columns * rows] }
    }

    fn curve(&mut self, curve: &Curve, (low, high): (f64, f64)) {
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
                self.line_between(if is_pole { to } else { from }, to);
            }
            before = here;
        }
    }

    fn line_between(&mut self, from: (f64, f64), to: (f64, f64)) {
        let most = (self.rows * 4) as f64;
        let steps = (to.1 - from.1).abs().max((to.0 - from.0).abs()).clamp(1.0, 4.0 * most).ceil();
        for step in 0..=steps as usize {
            let share = step as f64 / steps;
            self.dot(from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share);
        }
    }

    fn dot(&mut self, x: f64, y: f64) {
        /// The bit of each dot of a Braille character, by line and column.
        const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        let (x, y) = (x.round(), y.round());
        if x < 0.0 || y < 0.0 {
            return;
        }
        let (x, y) = (x as usize, y as usize);
        if x < self.columns * 2 && y < self.rows * 4 {
            self.cells[y / 4 * self.columns + x / 2] |= BITS[y % 4][x % 2];
        }
    }

    fn line(&self, row: usize, empty: char) -> String {
        let cells = &self.cells[row * self.columns..(row + 1) * self.columns];
        let character = |cell: &u8| match cell {
            0 => empty,
            dots => char::from_u32(0x2800 + u32::from(*dots)).unwrap_or(empty),
        };
        cells.iter().map(character).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within() {
        assert_eq!(ticks((-1.0, 1.0), 4), [-1.0, -0.5, 0.0, 0.5, 1.0]);
        assert_eq!(ticks((0.0, 6.2), 6), [0.0, 2.0, 4.0, 6.0]);
        assert_eq!(tick_text(0.1 + 0.2), "0.3");
        assert!(ticks((1.0, 1.0), 4).is_empty());
        assert!(ticks((f64::NAN, 1.0), 4).is_empty());
    }

    #[test]
    fn a_line_goes_from_corner_to_corner() {
        let curve = Curve { domain: (0.0, 1.0), values: vec![0.0, 0.5, 1.0] };
        let picture = draw(&curve, 40).unwrap();
        let lines: Vec<&str> = picture.lines().collect();
        assert_eq!(lines.len(), 8 + 2);
        assert!(lines[0].starts_with("  1 ┤"), "{picture}");
        assert!(lines[7].starts_with("  0 ┤"), "{picture}");
        assert!(lines.iter().all(|line| line.chars().count() <= 40), "{picture}");
    }

    #[test]
    fn poles_do_not_flatten_the_rest() {
        let values = (0..1000).map(|index| (f64::from(index) * 0.01).tan()).collect();
        let (low, high) = Curve { domain: (0.0, 10.0), values }.range().unwrap();
        assert!(low > -50.0 && high < 50.0, "{low} {high}");
    }

    #[test]
    fn what_has_no_finite_value_has_no_picture() {
        let curve = Curve { domain: (0.0, 1.0), values: vec![f64::NAN, f64::INFINITY] };
        assert!(draw(&curve, 80).is_none());
        let constant = Curve { domain: (0.0, 1.0), values: vec![5.0; 10] };
        assert!(draw(&constant, 80).is_some());
    }
}

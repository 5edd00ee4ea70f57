//! Curves as a picture file that browsers show.

use super::curve::{Curve, labelled_ticks, labels, range};
use std::fmt::Write;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 500.0;
/// The part that shows the curve: left, top, right, bottom.
const FRAME: (f64, f64, f64, f64) = (70.0, 50.0, 830.0, 450.0);

/// Half the width of a curve's stroke, rounded up: where the curve touches the
/// frame, this much is shown outside of it.
const STROKE: f64 = 2.0;

/// The colours of curves, in turn: on a light page, on a dark one.
const COLORS: [(&str, &str); 6] = [
    ("#0b66c3", "#5aa9ff"),
    ("#c2410c", "#fb923c"),
    ("#15803d", "#4ade80"),
    ("#7e22ce", "#c084fc"),
    ("#0e7490", "#22d3ee"),
    ("#b91c1c", "#f87171"),
];

/// Returns the picture of curves; `None` if nothing is visible.
pub(super) fn picture(curves: &[Curve], axis: &str) -> Option<String> {
    let range = range(curves)?;
    let domain = curves.first()?.domain;
    let (left, top, right, bottom) = FRAME;
    let x = |place: f64| left + (place - domain.0) / (domain.1 - domain.0) * (right - left);
    let y = |value: f64| bottom - (value - range.0) / (range.1 - range.0) * (bottom - top);
    let mut svg = head(&labels(curves));
    for (tick, text) in labelled_ticks(domain, 8) {
        let at = x(tick);
        line(&mut svg, tick == 0.0, (at, top), (at, bottom));
        let _ =
            writeln!(svg, r#"<text x="{at:.1}" y="{:.1}" text-anchor="middle">{text}</text>"#, bottom + 20.0);
    }
    for (tick, text) in labelled_ticks(range, 6) {
        let at = y(tick);
        line(&mut svg, tick == 0.0, (left, at), (right, at));
        let _ = writeln!(
            svg,
            r#"<text x="{:.1}" y="{:.1}" text-anchor="end">{text}</text>"#,
            left - 8.0,
            at + 4.0
        );
    }
    let _ = writeln!(
        svg,
        r#"<text x="{:.1}" y="{:.1}" text-anchor="end" class="name">{}</text>"#,
        right,
        bottom + 40.0,
        escaped(axis)
    );
    for (number, curve) in curves.iter().enumerate() {
        let (class, path) = (class(number), path(curve, range, x, y));
        let _ = writeln!(svg, r#"<path clip-path="url(#frame)" class="{class}" d="{path}"/>"#);
    }
    if curves.len() > 1 {
        legend(&mut svg, curves);
    }
    svg.push_str("</svg>\n");
    Some(svg)
}

/// Returns the classes of a curve; the first has the colour that is usual.
fn class(number: usize) -> String {
    match number % COLORS.len() {
        0 => "curve".into(),
        other => format!("curve c{other}"),
    }
}

/// Writes the legend below the axis: the colour of each curve.
fn legend(svg: &mut String, curves: &[Curve]) {
    let (mut at, y) = (FRAME.0, FRAME.3 + 40.0);
    for (number, curve) in curves.iter().enumerate() {
        let (line, end, text) = (y - 4.0, at + 24.0, at + 30.0);
        let label = escaped(&curve.label);
        let _ =
            writeln!(svg, r#"<path class="{}" d="M{at:.1} {line:.1}L{end:.1} {line:.1}"/>"#, class(number));
        let _ = writeln!(svg, r#"<text x="{text:.1}" y="{y:.1}">{label}</text>"#);
        at = text + 24.0 + 8.0 * curve.label.chars().count() as f64;
    }
}

/// Returns the style rules for the colours of the curves after the first.
fn colors(of: impl Fn(&(&'static str, &'static str)) -> &'static str) -> String {
    let rule = |(number, color)| format!("path.c{number} {{ stroke: {} }}\n", of(color));
    COLORS.iter().enumerate().skip(1).map(rule).collect()
}

fn head(title: &str) -> String {
    let title = escaped(title);
    let (left, top, right, bottom) = FRAME;
    let (clip_left, clip_top) = (left - STROKE, top - STROKE);
    let (width, height) = (right - left + 2.0 * STROKE, bottom - top + 2.0 * STROKE);
    let middle = f64::midpoint(left, right);
    let (light, dark) = (colors(|color| color.0), colors(|color| color.1));
    let (first_light, first_dark) = COLORS[0];
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">
<title>{title}</title>
<style>
rect.page {{ fill: #ffffff }}
text {{ font: 13px system-ui, sans-serif; fill: #555555 }}
text.title {{ font-size: 18px; fill: #222222 }}
text.name {{ font-style: italic }}
line {{ stroke: #e4e4e4; stroke-width: 1 }}
line.zero {{ stroke: #9a9a9a }}
path.curve {{ fill: none; stroke: {first_light}; stroke-width: 2.25; stroke-linejoin: round; stroke-linecap: round }}
{light}@media (prefers-color-scheme: dark) {{
rect.page {{ fill: #16181d }}
text {{ fill: #a8adb8 }}
text.title {{ fill: #eceef2 }}
line {{ stroke: #2b2f38 }}
line.zero {{ stroke: #6b7280 }}
path.curve {{ stroke: {first_dark} }}
{dark}}}
</style>
<clipPath id="frame"><rect x="{clip_left}" y="{clip_top}" width="{width}" height="{height}"/></clipPath>
<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>
<text x="{middle}" y="30" text-anchor="middle" class="title">{title}</text>
"#
    )
}

fn line(svg: &mut String, is_zero: bool, from: (f64, f64), to: (f64, f64)) {
    let class = if is_zero { r#" class="zero""# } else { "" };
    let _ = writeln!(
        svg,
        r#"<line{class} x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}"/>"#,
        from.0, from.1, to.0, to.1
    );
}

/// Returns the path's commands: a new piece after every gap and across every
/// pole.
fn path(curve: &Curve, range: (f64, f64), x: impl Fn(f64) -> f64, y: impl Fn(f64) -> f64) -> String {
    let mut commands = String::new();
    let mut before: Option<f64> = None;
    let margin = range.1 - range.0;
    for (place, value) in curve.places().zip(&curve.values) {
        let shown = value.is_finite().then(|| value.clamp(range.0 - margin, range.1 + margin));
        if let Some(value) = shown {
            let is_pole = |before: f64| before.min(value) < range.0 && before.max(value) > range.1;
            let command = if before.is_some_and(|before| !is_pole(before)) { 'L' } else { 'M' };
            let _ = write!(commands, "{command}{:.2} {:.2}", x(place), y(value));
        }
        before = shown;
    }
    commands
}

/// Escapes a text for XML, which does not allow control characters.
fn escaped(text: &str) -> String {
    let shown: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    shown.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

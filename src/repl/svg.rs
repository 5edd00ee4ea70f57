//! A curve as a picture file that browsers show.

use super::curve::{Curve, snapped, tick_text, ticks};
use std::fmt::Write;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 500.0;
/// The part that shows the curve: left, top, right, bottom.
const FRAME: (f64, f64, f64, f64) = (70.0, 50.0, 830.0, 450.0);

/// The picture of a curve under a title; `None` if there is nothing to see.
pub(super) fn picture(curve: &Curve, title: &str, axis: &str) -> Option<String> {
    let range = snapped(curve.range()?);
    let (left, top, right, bottom) = FRAME;
    let x = |place: f64| left + (place - curve.domain.0) / (curve.domain.1 - curve.domain.0) * (right - left);
    let y = |value: f64| bottom - (value - range.0) / (range.1 - range.0) * (bottom - top);
    let mut svg = head(title);
    for tick in ticks(curve.domain, 8) {
        let (at, text) = (x(tick), tick_text(tick));
        line(&mut svg, tick == 0.0, (at, top), (at, bottom));
        let _ =
            writeln!(svg, r#"<text x="{at:.1}" y="{:.1}" text-anchor="middle">{text}</text>"#, bottom + 20.0);
    }
    for tick in ticks(range, 6) {
        let (at, text) = (y(tick), tick_text(tick));
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
    let _ =
        writeln!(svg, r#"<path clip-path="url(#frame)" class="curve" d="{}"/>"#, path(curve, range, x, y));
    svg.push_str("</svg>\n");
    Some(svg)
}

fn head(title: &str) -> String {
    let title = escaped(title);
    let (left, top, right, bottom) = FRAME;
    let (width, height, middle) = (right - left, bottom - top, f64::midpoint(left, right));
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
path.curve {{ fill: none; stroke: #0b66c3; stroke-width: 2.25; stroke-linejoin: round; stroke-linecap: round }}
@media (prefers-color-scheme: dark) {{
rect.page {{ fill: #16181d }}
text {{ fill: #a8adb8 }}
text.title {{ fill: #eceef2 }}
line {{ stroke: #2b2f38 }}
line.zero {{ stroke: #6b7280 }}
path.curve {{ stroke: #5aa9ff }}
}}
</style>
<clipPath id="frame"><rect x="{left}" y="{top}" width="{width}" height="{height}"/></clipPath>
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

/// The path's commands: a new piece after every gap and across every pole.
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

/// A text as XML has it, in which control characters cannot stand.
fn escaped(text: &str) -> String {
    let shown: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    shown.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

//! Bar charts for a terminal.

use crate::Paint;

/// Length of the longest bar, in columns. With the rest of its line, that makes 78.
const LONGEST: usize = 38;
/// Cells filled by one to eight eighths.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// One bar of a chart.
#[derive(Clone, Debug)]
pub struct Bar {
    /// What the value belongs to.
    pub label: String,
    /// The value as text for people.
    pub figure: String,
    /// The value, which must not be negative.
    pub value: f64,
    /// The bar's colour.
    pub paint: Paint,
    /// A text after the bar.
    pub note: String,
}

/// A line for each bar. The longest bar has the full length.
pub fn lines(bars: &[Bar]) -> Vec<String> {
    let largest = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    let line = |bar: &Bar| {
        let drawn = draw(bar.value, largest);
        let gap = match bar.note.is_empty() {
            true => "",
            false => "  ",
        };
        format!(
            "  {:<12} {:>9}  {}{gap}{}",
            bar.label,
            bar.figure,
            bar.paint.on(&drawn),
            Paint::Strong.on(&bar.note)
        )
    };
    bars.iter().map(line).collect()
}

/// A bar whose length is the ratio of `value` to `largest`. Every value above zero is visible.
fn draw(value: f64, largest: f64) -> String {
    if value <= 0.0 {
        return String::new();
    }
    let full = (LONGEST * EIGHTHS.len()) as f64;
    let eighths = ((value / largest * full).round() as usize).max(1);
    let mut bar = "█".repeat(eighths / EIGHTHS.len());
    if let Some(rest) = (eighths % EIGHTHS.len()).checked_sub(1) {
        bar.push(EIGHTHS[rest]);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plain;

    fn bar(label: &str, value: f64, note: &str) -> Bar {
        Bar {
            label: label.to_owned(),
            figure: format!("{value}/s"),
            value,
            paint: Paint::Direct,
            note: note.into(),
        }
    }

    #[test]
    fn the_largest_has_the_full_length_and_others_their_share() {
        let length = |value| draw(value, 80.0).chars().count();
        assert_eq!(length(80.0), LONGEST);
        assert_eq!(length(40.0), LONGEST / 2);
        assert_eq!(draw(80.0, 80.0), "█".repeat(LONGEST));
        assert_eq!(draw(0.5, 80.0), "▎"); // 0.24 of a cell
    }

    #[test]
    fn nothing_has_no_bar_and_the_least_has_one() {
        assert_eq!(draw(0.0, 0.0), "");
        assert_eq!(draw(0.0, 1.0), "");
        assert_eq!(draw(0.001, 1000.0), "▏");
    }

    #[test]
    fn a_line_fits_the_screen_with_its_longest_note() {
        let lines = lines(&[
            bar("direct", 1.0, ""),
            bar("countersink", 30_000.0, "99.9x more"),
        ]);
        let lines: Vec<String> = lines.iter().map(|line| plain(line)).collect();
        assert_eq!(lines[0], "  direct             1/s  ▏");
        assert!(
            lines[1].starts_with("  countersink    30000/s  ███"),
            "{}",
            lines[1]
        );
        assert!(
            lines[1].chars().count() <= 79,
            "{}",
            lines[1].chars().count()
        );
    }
}

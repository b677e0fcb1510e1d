//! A workload as bars: the rate of each target over the server's own, by numbers of clients.

use std::fmt::Write;

use crate::results::{Spread, Workload};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 64.0;
const BOTTOM: f64 = 40.0;
/// Of the targets, in their order.
const COLOURS: [&str; 4] = ["#9aa0a6", "#4c78a8", "#e0a030", "#2e8b57"];
/// At most so many lines across.
const MOST_LINES: f64 = 6.0;

/// The plot, as an SVG that needs nothing else.
pub fn of(workload: &Workload) -> String {
    let groups: Vec<(usize, Vec<Spread>)> = workload
        .by_clients
        .iter()
        .map(|(clients, results)| {
            let bars = (0..results.names().count()).map(|which| results.rates_over(which, 0));
            (*clients, bars.collect())
        })
        .collect();
    let highest = groups
        .iter()
        .flat_map(|(_, bars)| bars.iter().map(|bar| bar.high));
    let scale = Scale::up_to(highest.fold(1.0, f64::max));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n"
    );
    text(
        &mut svg,
        WIDTH / 2.0,
        20.0,
        "middle",
        &format!("{}: rate over direct", workload.title),
    );
    legend(&mut svg, workload);
    scale.lines(&mut svg);
    let room = (WIDTH - LEFT - RIGHT) / groups.len() as f64;
    for (position, (clients, bars)) in groups.iter().enumerate() {
        let from = LEFT + room * position as f64;
        let label = format!("{clients} client{}", if *clients == 1 { "" } else { "s" });
        text(
            &mut svg,
            from + room / 2.0,
            HEIGHT - BOTTOM + 20.0,
            "middle",
            &label,
        );
        let width = room * 0.8 / bars.len() as f64;
        for (which, bar) in bars.iter().enumerate() {
            let left = from + room * 0.1 + width * which as f64;
            draw(
                &mut svg,
                &scale,
                left,
                width,
                bar,
                COLOURS[which % COLOURS.len()],
            );
        }
    }
    svg + "</svg>\n"
}

fn legend(svg: &mut String, workload: &Workload) {
    let Some((_, results)) = workload.by_clients.first() else {
        return;
    };
    for (which, name) in results.names().enumerate() {
        let left = LEFT + 140.0 * which as f64;
        rectangle(svg, left, 34.0, 12.0, 12.0, COLOURS[which % COLOURS.len()]);
        text(svg, left + 18.0, 44.0, "start", name);
    }
}

/// A bar as high as the median, and a line from quartile to quartile.
fn draw(svg: &mut String, scale: &Scale, left: f64, width: f64, bar: &Spread, colour: &str) {
    let top = scale.y(bar.median);
    rectangle(svg, left, top, width * 0.9, scale.y(0.0) - top, colour);
    let middle = left + width * 0.45;
    line(
        svg,
        (middle, scale.y(bar.low)),
        (middle, scale.y(bar.high)),
        "#202020",
    );
}

/// From rates to heights.
struct Scale {
    top: f64,
    step: f64,
}

impl Scale {
    fn up_to(highest: f64) -> Self {
        let steps = [0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0];
        let fitting = steps.into_iter().find(|step| highest / step <= MOST_LINES);
        let step = fitting.unwrap_or(highest / MOST_LINES);
        Self {
            top: (highest / step).ceil() * step,
            step,
        }
    }

    fn y(&self, rate: f64) -> f64 {
        HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * rate / self.top
    }

    fn lines(&self, svg: &mut String) {
        let mut rate = 0.0;
        while rate <= self.top + self.step / 2.0 {
            let y = self.y(rate);
            line(svg, (LEFT, y), (WIDTH - RIGHT, y), "#d0d0d0");
            text(svg, LEFT - 6.0, y + 4.0, "end", &format!("{rate}"));
            rate += self.step;
        }
    }
}

fn rectangle(svg: &mut String, x: f64, y: f64, width: f64, height: f64, colour: &str) {
    let drawn = writeln!(
        svg,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"/>"
    );
    drawn.expect("a string takes it");
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), colour: &str) {
    let ((x1, y1), (x2, y2)) = (from, to);
    let drawn = writeln!(
        svg,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"/>"
    );
    drawn.expect("a string takes it");
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    let drawn = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"#202020\">{text}</text>"
    );
    drawn.expect("a string takes it");
}

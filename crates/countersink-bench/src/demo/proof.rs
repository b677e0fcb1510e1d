//! Checks that the counter holds exactly the increments that were acknowledged to clients.

use countersink_terminal::Paint;
use countersink_terminal::number::grouped;

/// Number of slot rows to show individually.
const SHOWN: usize = 4;

/// The increments that were acknowledged, and those that were found.
#[derive(Clone, Debug)]
pub(super) struct Proof {
    /// Value of the counter before the load.
    pub first: i64,
    /// Increments that were acknowledged to clients connected directly.
    pub direct: u64,
    /// Increments that were acknowledged to clients of the proxy.
    pub proxied: u64,
    /// The counter as the application reads it, through the proxy.
    pub read: i64,
    /// The contents of the tables, read directly from the server.
    pub tables: Tables,
}

/// The counter's base row and its slot rows, as of the same moment.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    pub base: i64,
    /// Slot numbers and their contents, the fullest first.
    pub slots: Vec<(u16, i64)>,
}

impl Tables {
    fn slot_sum(&self) -> i128 {
        self.slots.iter().map(|&(_, count)| i128::from(count)).sum()
    }
}

impl Proof {
    /// Whether both equations hold.
    pub fn holds(&self) -> bool {
        let told = self.told();
        i128::from(self.read) == told && self.found() == told
    }

    fn told(&self) -> i128 {
        i128::from(self.first) + i128::from(self.direct) + i128::from(self.proxied)
    }

    fn found(&self) -> i128 {
        i128::from(self.tables.base) + self.tables.slot_sum()
    }

    /// The equation: a heading and three lines.
    pub fn equation(&self) -> Vec<String> {
        let heading = match self.holds() {
            true => Paint::Strong.on("Every acknowledged increment is there, once"),
            false => Paint::Bad.on("The sum is not exact"),
        };
        let told = grouped(self.told());
        let read = grouped(self.read);
        let found = grouped(self.found());
        let width = told.len().max(read.len()).max(found.len());
        let line = |sum: &str, right: bool, text: String| {
            let (mark, paint) = match right {
                true => ("=", Paint::Good),
                false => ("≠", Paint::Bad),
            };
            format!("  {} {sum:>width$}  {text}", paint.on(mark))
        };
        vec![
            heading,
            format!(
                "    {told:>width$}  {} at first + {} direct + {} proxied",
                grouped(self.first),
                grouped(self.direct),
                grouped(self.proxied)
            ),
            line(
                &read,
                i128::from(self.read) == self.told(),
                "SELECT views through the proxy".to_owned(),
            ),
            line(
                &found,
                self.found() == self.told(),
                format!(
                    "base {} + SUM(slots) {}, read directly",
                    grouped(self.tables.base),
                    grouped(self.tables.slot_sum())
                ),
            ),
        ]
    }
}

impl Tables {
    /// The rows in the tables: a heading, the base row, the fullest slots, and the number of the others.
    pub fn rows(&self, key: u64) -> Vec<String> {
        let mut lines = vec![
            Paint::Strong.on("Where it is kept"),
            row("posts", &format!("id {key}"), self.base.into()),
        ];
        let (shown, rest) = self.slots.split_at(SHOWN.min(self.slots.len()));
        let mut name = "posts_slots";
        for &(slot, count) in shown {
            lines.push(row(name, &format!("id {key}, slot {slot}"), count.into()));
            name = "";
        }
        if !rest.is_empty() {
            let sum = rest.iter().map(|&(_, count)| i128::from(count)).sum();
            let text = format!("and {} more slots", rest.len());
            lines.push(row(name, &text, sum));
        }
        lines
    }
}

fn row(table: &str, which: &str, views: i128) -> String {
    let views = grouped(views);
    format!("  {table:<12} {which:<18} views {views:>12}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof(read: i64, slots: &[(u16, i64)]) -> Proof {
        Proof {
            first: 1_000,
            direct: 200,
            proxied: 34,
            read,
            tables: Tables {
                base: 1_200,
                slots: slots.to_vec(),
            },
        }
    }

    fn plain(lines: &[String]) -> Vec<String> {
        let strip = |line: &String| countersink_terminal::plain(line);
        lines.iter().map(strip).collect()
    }

    #[test]
    fn an_exact_sum_is_told_as_an_equation() {
        let proof = proof(1_234, &[(0, 30), (1, 4)]);
        assert!(proof.holds());
        assert_eq!(
            plain(&proof.equation()),
            [
                "Every acknowledged increment is there, once",
                "    1,234  1,000 at first + 200 direct + 34 proxied",
                "  = 1,234  SELECT views through the proxy",
                "  = 1,234  base 1,200 + SUM(slots) 34, read directly",
            ]
        );
    }

    #[test]
    fn one_increment_too_few_or_too_many_is_not_exact() {
        let lost = proof(1_233, &[(0, 33)]);
        assert!(!lost.holds());
        let lines = plain(&lost.equation());
        assert_eq!(lines[0], "The sum is not exact");
        assert_eq!(lines[2], "  ≠ 1,233  SELECT views through the proxy");
        assert!(!proof(1_234, &[(0, 35)]).holds());
        assert!(!proof(1_235, &[(0, 34)]).holds());
        let misread = plain(&proof(1_200, &[(0, 34)]).equation());
        assert!(
            misread[2].starts_with("  ≠") && misread[3].starts_with("  ="),
            "{misread:?}"
        );
    }

    #[test]
    fn the_fullest_slots_are_shown_and_the_rest_counted() {
        let slots = [(3, 900), (0, 40), (1, 30), (2, 20), (5, -7), (4, -10)];
        let rows = proof(0, &slots).tables.rows(42);
        assert_eq!(
            plain(&rows),
            [
                "Where it is kept",
                "  posts        id 42              views        1,200",
                "  posts_slots  id 42, slot 3      views          900",
                "               id 42, slot 0      views           40",
                "               id 42, slot 1      views           30",
                "               id 42, slot 2      views           20",
                "               and 2 more slots   views          -17",
            ]
        );
        assert_eq!(proof(0, &[]).tables.rows(42).len(), 2);
    }
}

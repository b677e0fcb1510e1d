//! An explanation as lines, and the lines as text. Between the proxy and `countersink explain --proxy` the lines travel
//! as rows.

use std::fmt::{self, Write};

use super::{Explanation, Sent};

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The reason's code, which names the plan.
    Plan,
    /// The reason.
    Why,
    /// A statement that is sent.
    Sends,
    /// A lock that is taken.
    Locks,
    /// What else there is to know.
    Note,
}

impl Part {
    const ALL: [Self; 5] = [Self::Plan, Self::Why, Self::Sends, Self::Locks, Self::Note];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Why => "why",
            Self::Sends => "sends",
            Self::Locks => "locks",
            Self::Note => "note",
        }
    }

    /// The part of this name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.name() == name)
    }
}

/// One statement, lock or sentence of an explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What it is about.
    pub part: Part,
    /// Of the ways in which the statement may go, the one that it belongs to; empty where there is one only.
    pub when: String,
    /// The statement, lock or sentence.
    pub text: String,
}

impl Explanation {
    /// Line by line.
    pub fn lines(&self) -> Vec<Line> {
        let line = |part, when: &str, text: &str| Line {
            part,
            when: when.to_owned(),
            text: text.to_owned(),
        };
        let mut lines = vec![
            line(Part::Plan, "", self.reason.code()),
            line(Part::Why, "", self.reason.why()),
        ];
        for way in &self.ways {
            let sends = way.sends.iter().map(ToString::to_string);
            lines.extend(sends.map(|text| line(Part::Sends, &way.when, &text)));
            let locks = way.locks.iter();
            lines.extend(locks.map(|text| line(Part::Locks, &way.when, text)));
        }
        let notes = self.notes.iter();
        lines.extend(notes.map(|note| line(Part::Note, "", note)));
        lines
    }
}

impl fmt::Display for Sent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Original => formatter.write_str("(the statement as it came)"),
            Self::Control(text) => write!(formatter, "(by the control account) {text}"),
            Self::Text(text) => formatter.write_str(text),
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&show(&self.lines()))
    }
}

/// Lines as text: each part is named once, and each way has a paragraph of its own under what it depends on.
pub fn show(lines: &[Line]) -> String {
    let mut text = String::new();
    let mut before: Option<&Line> = None;
    for line in lines {
        let is_new_way = line.part == Part::Sends
            && !line.when.is_empty()
            && before.is_none_or(|before| before.part != Part::Sends || before.when != line.when);
        if is_new_way {
            write!(text, "\n{}:\n", line.when).expect("a String takes all");
        }
        if line.part == Part::Note && before.is_some_and(|before| !before.when.is_empty()) {
            text.push('\n');
        }
        let is_named = !is_new_way && before.is_some_and(|before| before.part == line.part);
        let name = match is_named {
            true => String::new(),
            false => format!("{}:", line.part.name()),
        };
        for (number, row) in line.text.lines().enumerate() {
            let name = if number == 0 { name.as_str() } else { "" };
            writeln!(text, "{}", format!("{name:<8}{row}").trim_end()).expect("a String takes all");
        }
        before = Some(line);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::Way;
    use crate::reason::Reason;

    fn way(when: &str, sends: Vec<Sent>, lock: &str) -> Way {
        Way {
            when: when.to_owned(),
            sends,
            locks: vec![lock.to_owned()],
        }
    }

    #[test]
    fn ways_have_paragraphs_and_parts_are_named_once() {
        let explanation = Explanation {
            reason: Reason::ZeroDelta,
            ways: vec![
                way("one", vec![Sent::text("DO\n 0"), Sent::Original], "a"),
                way("two", vec![Sent::Original], "b"),
            ],
            notes: vec!["Note.".to_owned()],
        };
        let expected = "\
plan:   forwarded:zero-delta
why:    Adds zero, so nothing changes.

one:
sends:  DO
         0
        (the statement as it came)
locks:  a

two:
sends:  (the statement as it came)
locks:  b

note:   Note.
";
        assert_eq!(explanation.to_string(), expected);
    }

    #[test]
    fn a_single_way_has_no_heading() {
        let explanation = Explanation {
            reason: Reason::ZeroDelta,
            ways: vec![Way::original()],
            notes: Vec::new(),
        };
        let expected = "\
plan:   forwarded:zero-delta
why:    Adds zero, so nothing changes.
sends:  (the statement as it came)
locks:  what the statement locks by itself
";
        assert_eq!(explanation.to_string(), expected);
    }

    #[test]
    fn parts_are_found_by_name() {
        for part in Part::ALL {
            assert_eq!(Part::of(part.name()), Some(part));
        }
        assert_eq!(Part::of("Plan"), None);
    }
}

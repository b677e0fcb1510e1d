//! For how long an answer about a session's rights is valid: until any account's rights change.
//!
//! A change through a session of this proxy is noticed at once. For changes past the proxy the server is asked, a few
//! times a second while increments go on, how many statements that change rights it has run. Any account may ask that,
//! and it costs the server less than a millisecond.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use super::control::Control;

/// How often the server is asked.
const LOOK: Duration = Duration::from_millis(500);

/// The server counts a statement when it begins, and its effect comes later. For this many looks after a change,
/// nothing is relied on beyond the next look.
const LOOKS_AFTER_CHANGE: u8 = 3;

/// After this many looks without an increment in between, the server is not asked any more.
const LOOKS_WITHOUT_USE: u8 = 20;

/// Nothing is relied on for more than this many looks, in case they have missed a change.
const MOST_LOOKS: u8 = 120;

/// Counts of statements that change rights (FLUSH PRIVILEGES among them), and of what they have left behind.
const QUESTION: &str = "SHOW GLOBAL STATUS WHERE Variable_name REGEXP \
     '^(Com_(grant|revoke|flush|reload|set_password|(create|alter|drop|rename)_(user|role))|Acl_)'";

/// The validity of what sessions know about their rights, by generation.
#[derive(Debug, Default)]
pub struct Rights {
    generation: AtomicU64,
    /// Statements of this proxy's sessions that change rights and have no response yet.
    changes: AtomicUsize,
    is_used: AtomicBool,
}

/// A statement that changes rights is under way. When this is dropped, everything is forgotten.
#[derive(Debug)]
pub struct Change<'a> {
    rights: &'a Rights,
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        self.rights.forget();
        self.rights.changes.fetch_sub(1, Ordering::Release);
    }
}

impl Rights {
    /// An answer from another generation is no longer valid. Read this before the server is asked. `None`: rights are
    /// being changed, and no answer is valid.
    pub fn generation(&self) -> Option<u64> {
        match self.changes.load(Ordering::Acquire) {
            0 => Some(self.generation.load(Ordering::Acquire)),
            _ => None,
        }
    }

    /// Call this before a statement that changes rights is sent, and keep the result until the client has its response:
    /// a client that has seen the response may rely on its effect.
    pub fn change(&self) -> Change<'_> {
        self.changes.fetch_add(1, Ordering::AcqRel);
        Change { rights: self }
    }

    /// Rights may have changed: all sessions must ask the server again.
    fn forget(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// A session relies on an answer, so changes must be looked for.
    pub fn rely(&self) {
        if !self.is_used.load(Ordering::Relaxed) {
            self.is_used.store(true, Ordering::Relaxed);
        }
    }

    /// Looks for changes past the proxy. Never returns.
    pub async fn watch(&self, control: &Control) {
        let mut last = control.ask_on_look(QUESTION).await;
        let mut watch = Watch::default();
        loop {
            tokio::time::sleep(LOOK).await;
            let is_used = self.is_used.swap(false, Ordering::Relaxed);
            if !watch.is_on(is_used) {
                continue;
            }
            let now = control.ask_on_look(QUESTION).await;
            // No answer counts as a change.
            if watch.forgets(now.is_none() || now != last) {
                self.forget();
            }
            last = now.or(last);
        }
    }
}

/// Looks for changes, counted.
#[derive(Debug, Default)]
struct Watch {
    /// Looks since the last increment; `None`: nothing is relied on.
    unused: Option<u8>,
    /// Looks at which everything is to be forgotten.
    doubts: u8,
    /// Looks since everything was forgotten.
    age: u8,
}

impl Watch {
    /// Whether to look.
    fn is_on(&mut self, is_used: bool) -> bool {
        self.unused = match (is_used, self.unused) {
            (true, _) => Some(0),
            (false, Some(unused)) if unused < LOOKS_WITHOUT_USE => Some(unused + 1),
            _ => None,
        };
        self.unused.is_some()
    }

    /// Whether what was shown before this look is to be forgotten.
    fn forgets(&mut self, has_changed: bool) -> bool {
        let is_last = self.unused == Some(LOOKS_WITHOUT_USE);
        if has_changed {
            self.doubts = LOOKS_AFTER_CHANGE;
        }
        self.age = self.age.saturating_add(1);
        let forgets = self.doubts > 0 || is_last || self.age >= MOST_LOOKS;
        self.doubts = self.doubts.saturating_sub(1);
        if forgets {
            self.age = 0;
        }
        forgets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The outcome of each look: (used since the last, changed) to forgotten, or not looked at all.
    fn looks(steps: &[(bool, bool)]) -> Vec<Option<bool>> {
        let mut watch = Watch::default();
        let looks = steps.iter().map(|(is_used, has_changed)| {
            watch.is_on(*is_used).then(|| watch.forgets(*has_changed))
        });
        looks.collect()
    }

    #[test]
    fn a_change_is_doubted_for_some_looks() {
        let steps = [
            (true, false),
            (true, true),
            (true, false),
            (true, false),
            (true, false),
        ];
        let expected = [false, true, true, true, false].map(Some);
        assert_eq!(looks(&steps), expected);
    }

    #[test]
    fn without_increments_everything_is_forgotten_and_nobody_asked() {
        let unused = usize::from(LOOKS_WITHOUT_USE);
        let steps = [&[(true, false)][..], &vec![(false, false); unused + 2]].concat();
        let looks = looks(&steps);
        assert!(looks[..unused].iter().all(|look| *look == Some(false)));
        assert_eq!(looks[unused..], [Some(true), None, None]);
    }

    #[test]
    fn nothing_is_relied_on_for_ever() {
        let steps = vec![(true, false); usize::from(MOST_LOOKS)];
        let looks = looks(&steps);
        assert_eq!(looks.last(), Some(&Some(true)));
        assert_eq!(looks.iter().filter(|look| **look == Some(true)).count(), 1);
    }
}

//! A statement on its way into a batch.

use crate::counter::combine::Member;
use crate::session::act::slot::Slotting;
use crate::session::reply::{Original, ReplyContext};

/// A statement that may be written together with others.
pub(crate) struct Candidate<'a> {
    pub member: Member,
    /// The increment of slots that it is, if it is one.
    pub slotting: Option<&'a Slotting<'a>>,
    pub original: &'a Original,
    pub context: ReplyContext,
}

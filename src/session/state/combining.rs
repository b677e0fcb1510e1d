//! Which sessions may write increments together.

use std::sync::Arc;

use crate::counter::combine::Group;

/// Which sessions' increments the session's own may be combined with.
#[derive(Debug)]
pub(crate) enum Combining {
    /// The upstream has not been asked since something may have changed it.
    Unknown,
    /// No other session's.
    Alone,
    /// Those of its group.
    With {
        group: Arc<Group>,
        /// The session's time is the server's: SET timestamp is not in force.
        has_own_time: bool,
    },
}

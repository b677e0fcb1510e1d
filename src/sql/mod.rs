//! Text to plan, pure: what a statement does to hot tables, and what to send in its place.

pub mod plan;
pub mod template;

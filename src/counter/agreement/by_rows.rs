//! What proxies before a cluster tell each other, by the rows of a table: see [`crate::counter::registry`].

use super::{Claim, Here, Partners, drain};
use crate::config::TableName;
use crate::counter::node::HERE;
use crate::counter::registry::{Entry, GRACE, PROXIES};

pub(super) fn drained(entries: &[Entry], tables: &[TableName]) -> Vec<usize> {
    let is_drained = |(_, table): &(usize, &TableName)| {
        let drain = drain(table);
        let mut live = entries.iter().filter(|entry| entry.is_live());
        live.any(|entry| entry.says.contains(&drain))
    };
    let drained = tables.iter().enumerate().filter(is_drained);
    drained.map(|(position, _)| position).collect()
}

/// The other proxies, silent ones among them.
fn proxies(entries: &[Entry], own: Option<u16>) -> impl Iterator<Item = &Entry> {
    let is_other =
        move |entry: &&Entry| PROXIES.contains(&entry.number) && Some(entry.number) != own;
    entries.iter().filter(is_other)
}

pub(super) fn here(entries: &[Entry], own: Option<u16>) -> Here {
    let is_here = |entry: &&Entry| entry.is_live() && entry.says.contains(HERE);
    let here = proxies(entries, own).filter(is_here);
    here.map(|entry| (usize::from(entry.number), entry.identity()))
        .collect()
}

pub(super) fn others(entries: &[Entry], claim: &str, own: Option<u16>) -> Vec<usize> {
    let says = |entry: &&Entry| entry.is_live() && entry.says.contains(claim);
    let others = proxies(entries, own).filter(says);
    others.map(|entry| usize::from(entry.number)).collect()
}

/// Those that have something to do with the table, and have fallen silent not long ago: nobody knows what they do.
pub(super) fn silent(entries: &[Entry], table: &TableName) -> Vec<usize> {
    let claims = [Claim::Slots, Claim::Reads].map(|claim| claim.name(table));
    let silent = proxies(entries, None).filter(|entry| !entry.is_live() && entry.silent < GRACE);
    let silent = silent.filter(|entry| claims.iter().any(|claim| entry.says.contains(claim)));
    silent.map(|entry| usize::from(entry.number)).collect()
}

pub(super) fn partners(entries: &[Entry], tables: &[TableName], here: &Here) -> Partners {
    let mut partners = Vec::new();
    for table in tables {
        let claims = [Claim::Reads, Claim::Base].map(|claim| claim.name(table));
        for entry in entries {
            let number = usize::from(entry.number);
            let is_here = here.get(&number) == Some(&entry.identity());
            if is_here && claims.iter().any(|claim| entry.says.contains(claim)) {
                partners.push(((table.clone(), entry.identity()), number));
            }
        }
    }
    partners
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::counter::registry::SILENCE;

    fn posts() -> TableName {
        TableName {
            schema: "shop".to_owned(),
            name: "posts_slots".to_owned(),
        }
    }

    fn entry(number: u16, silent: Duration, says: &[&str]) -> Entry {
        Entry {
            number,
            proxy: format!("proxy {number}"),
            beat: 1,
            says: says.iter().map(|&name| name.to_owned()).collect(),
            silent,
        }
    }

    #[test]
    fn who_is_silent_is_not_here_and_says_nothing() {
        let (slots, reads) = (Claim::Slots.name(&posts()), Claim::Reads.name(&posts()));
        let says = [HERE, &slots, &reads];
        let entries = [
            entry(0, Duration::ZERO, &says),
            entry(1, Duration::ZERO, &says),
            entry(2, SILENCE, &says),
            // It has not said all it has to say.
            entry(3, Duration::ZERO, &[&slots]),
            entry(1000, Duration::ZERO, &says),
        ];
        let here = here(&entries, Some(0));
        assert_eq!(here.into_keys().collect::<Vec<_>>(), [1]);
        assert_eq!(others(&entries, &slots, Some(0)), [1, 3]);
        assert_eq!(others(&entries, &slots, None), [0, 1, 3]);
        assert_eq!(silent(&entries, &posts()), [2]);
        let later = entry(2, GRACE, &says);
        assert_eq!(silent(&[later], &posts()), [] as [usize; 0]);
    }

    #[test]
    fn partners_have_a_part_in_a_table() {
        let reads = Claim::Reads.name(&posts());
        let entries = [
            entry(1, Duration::ZERO, &[HERE, &reads]),
            entry(2, Duration::ZERO, &[HERE]),
        ];
        let here = here(&entries, None);
        let partners = partners(&entries, &[posts()], &here);
        let expected = ((posts(), entries[0].identity()), 1);
        assert_eq!(partners, [expected]);
    }

    #[test]
    fn a_drain_is_heard_while_it_lives() {
        let drain = drain(&posts());
        let tables = [posts()];
        let is_drained = |silent| drained(&[entry(1000, silent, &[&drain])], &tables) == [0];
        assert!(is_drained(Duration::ZERO));
        assert!(!is_drained(SILENCE));
    }
}

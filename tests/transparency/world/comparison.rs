//! What the tables of both sides hold in the end, which must be the same.

use countersink::driver::{Driver, Reply};
use countersink_sandbox::Address;

use super::World;
use super::tables::Hot;
use crate::difference::Difference;
use crate::support::client::{connect, rows, run};

impl World {
    /// What these tables of both sides hold, told by three fresh sessions: directly, through the proxy, and added up
    /// from base and slots.
    pub async fn compare_tables(
        &self,
        names: &[&str],
        plain: &Address,
        proxy: &Address,
        proxied: &Address,
    ) -> Vec<Difference> {
        let schema = Some(self.schema.as_str());
        let mut plain = connect(plain, schema).await;
        let mut proxy = connect(proxy, schema).await;
        let mut behind = connect(proxied, schema).await;
        for driver in [&mut plain, &mut proxy, &mut behind] {
            run(driver, "SET NAMES utf8mb4").await;
        }
        let mut found = Vec::new();
        for name in names {
            let query = format!("SELECT * FROM {name} ORDER BY 1, 2");
            let theirs = outcome(&mut plain, &query).await;
            let ours = outcome(&mut proxy, &query).await;
            if theirs != ours {
                let detail = format!("  direct  {}\n  proxied {}\n", shown(&theirs), shown(&ours));
                found.push(Difference::new(&query, "fresh session", detail));
            }
        }
        let slot_tables = rows(
            &mut behind,
            "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()",
        )
        .await
        .concat();
        for hot in self.hot().filter(|hot| names.contains(&hot.name)) {
            // DDL takes a slot table away, and it stays away while the table does not fit its rule.
            let has_slots = slot_tables.contains(&format!("{}_slots", hot.name));
            let counters = format!("SELECT {} FROM {}", hot.counters.join(", "), hot.name);
            if let Reply::Err(_) = outcome(&mut plain, &counters).await {
                continue; // the session dropped or renamed it
            }
            found.extend(hot.compare_sums(&mut plain, &mut behind, has_slots).await);
        }
        found
    }
}

async fn outcome(driver: &mut Driver, query: &str) -> Reply {
    driver
        .query(query)
        .await
        .unwrap_or_else(|error| panic!("{error}: {query}"))
}

fn shown(reply: &Reply) -> String {
    let Reply::Rows(rows) = reply else {
        return format!("{reply:?}");
    };
    let value = |value: &Option<Vec<u8>>| match value {
        Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        None => "NULL".to_owned(),
    };
    let rows = rows
        .iter()
        .map(|row| row.iter().map(value).collect::<Vec<_>>().join(" "));
    rows.collect::<Vec<_>>().join(" | ")
}

impl Hot {
    /// base + SUM(slots) on the one side against the value on the other; and no slot without its row.
    async fn compare_sums(
        &self,
        plain: &mut Driver,
        behind: &mut Driver,
        has_slots: bool,
    ) -> Vec<Difference> {
        let Self { name, key, .. } = self;
        let key_list = key.join(", ");
        let same_key: Vec<_> = key.iter().map(|key| format!("s.{key} = t.{key}")).collect();
        let same_key = same_key.join(" AND ");
        let sums: Vec<_> = self
            .counters
            .iter()
            .map(|counter| {
                format!("t.{counter} + COALESCE((SELECT SUM(s.{counter}) FROM {name}_slots s WHERE {same_key}), 0)")
            })
            .collect();
        let values: Vec<_> = self
            .counters
            .iter()
            .map(|counter| format!("t.{counter} + 0"))
            .collect();
        let query = |columns: Vec<String>| {
            format!(
                "SELECT {key_list}, {} FROM {name} t ORDER BY {key_list}",
                columns.join(", ")
            )
        };
        let theirs = rows(plain, &query(values.clone())).await;
        let sums = match has_slots {
            true => query(sums),
            false => query(values.clone()),
        };
        let ours = rows(behind, &sums).await;
        let mut found = Vec::new();
        if theirs != ours {
            let detail = format!("  direct  {theirs:?}\n  base + SUM(slots) {ours:?}\n");
            found.push(Difference::new(&sums, "fresh session", detail));
        }
        if !has_slots {
            return found;
        }
        let has_value: Vec<_> = self
            .counters
            .iter()
            .map(|counter| format!("s.{counter} <> 0"))
            .collect();
        let orphans = format!(
            "SELECT * FROM {name}_slots s WHERE ({}) AND NOT EXISTS (SELECT 1 FROM {name} t WHERE {same_key})",
            has_value.join(" OR ")
        );
        let orphans = rows(behind, &orphans).await;
        if !orphans.is_empty() {
            let detail = format!("  slots without a row: {orphans:?}\n");
            found.push(Difference::new(
                &format!("slots of {name}"),
                "fresh session",
                detail,
            ));
        }
        found
    }
}

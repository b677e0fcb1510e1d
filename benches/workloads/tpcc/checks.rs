//! Conditions of consistency (specification: 3.3.2), and that all is there that was acknowledged.

use super::load::FIRST_PAYMENT;
use super::{DISTRICTS, NEW_ORDER, PAYMENT, Tpcc};
use crate::workload::{Acknowledged, Check};

/// What each query counts are the rows for which the condition does not hold.
const CONDITIONS: [(&str, &str); 11] = [
    (
        "1: W_YTD is the sum of D_YTD",
        "SELECT COUNT(*) FROM warehouse WHERE w_ytd <> (SELECT SUM(d_ytd) FROM district WHERE d_w_id = w_id)",
    ),
    (
        "2: D_NEXT_O_ID follows the largest O_ID",
        "SELECT COUNT(*) FROM district WHERE d_next_o_id - 1 <> \
         (SELECT MAX(o_id) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id)",
    ),
    (
        "2: D_NEXT_O_ID follows the largest NO_O_ID, where there is one",
        "SELECT COUNT(*) FROM district WHERE d_next_o_id - 1 <> \
         (SELECT MAX(no_o_id) FROM new_orders WHERE no_w_id = d_w_id AND no_d_id = d_id)",
    ),
    (
        "3: new orders have all numbers from the first to the last",
        "SELECT COUNT(*) FROM (SELECT 1 FROM new_orders GROUP BY no_w_id, no_d_id \
         HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)) AS d",
    ),
    (
        "4: the sum of O_OL_CNT is the number of order lines",
        "SELECT COUNT(*) FROM (SELECT o_w_id AS w, o_d_id AS d, SUM(o_ol_cnt) AS n FROM orders GROUP BY o_w_id, o_d_id) \
         AS o WHERE n <> (SELECT COUNT(*) FROM order_line WHERE ol_w_id = w AND ol_d_id = d)",
    ),
    (
        "5: an order has no carrier as long as it is new",
        "SELECT COUNT(*) FROM orders LEFT JOIN new_orders ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id \
         WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)",
    ),
    (
        "6: O_OL_CNT is the number of the order's lines",
        "SELECT COUNT(*) FROM orders WHERE o_ol_cnt <> (SELECT COUNT(*) FROM order_line \
         WHERE ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id)",
    ),
    (
        "7: a line has a date of delivery as soon as its order has a carrier",
        "SELECT COUNT(*) FROM order_line JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
         WHERE (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)",
    ),
    (
        "8: W_YTD is the sum of H_AMOUNT",
        "SELECT COUNT(*) FROM warehouse WHERE w_ytd <> (SELECT SUM(h_amount) FROM history WHERE h_w_id = w_id)",
    ),
    (
        "9: D_YTD is the sum of H_AMOUNT",
        "SELECT COUNT(*) FROM district WHERE d_ytd <> \
         (SELECT SUM(h_amount) FROM history WHERE h_w_id = d_w_id AND h_d_id = d_id)",
    ),
    (
        "12: C_BALANCE and C_YTD_PAYMENT are the sum of what was delivered",
        "SELECT COUNT(*) FROM customer LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS delivered \
         FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
         WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) AS o \
         ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id \
         WHERE c_balance + c_ytd_payment <> COALESCE(delivered, 0)",
    ),
];

/// All that is checked.
pub fn of(sizes: &Tpcc, acknowledged: &Acknowledged) -> Vec<Check> {
    let conditions = CONDITIONS.iter();
    let mut checks: Vec<_> = conditions
        .map(|(what, query)| Check::none(what, query))
        .collect();
    let loaded = u64::from(sizes.warehouses * DISTRICTS * sizes.customers);
    let first_cents = loaded * u64::from(FIRST_PAYMENT);
    let counts = [
        (
            "orders that were acknowledged",
            "SELECT COUNT(*) FROM orders",
            loaded + acknowledged.committed[NEW_ORDER],
        ),
        (
            "payments that were acknowledged",
            "SELECT COUNT(*) FROM history",
            loaded + acknowledged.committed[PAYMENT],
        ),
        (
            "cents of W_YTD that were acknowledged",
            "SELECT CAST(SUM(w_ytd) * 100 AS SIGNED) FROM warehouse",
            first_cents + acknowledged.counted,
        ),
        (
            "cents of D_YTD that were acknowledged",
            "SELECT CAST(SUM(d_ytd) * 100 AS SIGNED) FROM district",
            first_cents + acknowledged.counted,
        ),
    ];
    checks.extend(counts.map(|(what, query, expected)| Check {
        what,
        query: query.to_owned(),
        expected: i64::try_from(expected).expect("a count"),
    }));
    checks
}

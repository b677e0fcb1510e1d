//! Which names are one.

/// Whether two names are one of those that know no letter case, as columns are.
pub(crate) fn is_same(left: &str, right: &str) -> bool {
    match left.is_ascii() && right.is_ascii() {
        true => left.eq_ignore_ascii_case(right),
        false => left.to_lowercase() == right.to_lowercase(),
    }
}

/// Whether two names of schemas, tables or aliases are one by the server's `lower_case_table_names`.
pub(crate) fn is_same_table(lower_case_table_names: u8, left: &str, right: &str) -> bool {
    match lower_case_table_names {
        0 => left == right,
        _ => is_same(left, right),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_beyond_ascii_have_case_too() {
        assert!(is_same("Views", "vIEWS") && is_same("Größe", "GRÖßE"));
        // The sign for kelvin, whose small letter is the common one.
        assert!(is_same("\u{212A}ey", "KEY"));
        assert!(!is_same("views", "view") && !is_same("Größe", "Grosse"));
        assert!(is_same_table(1, "Posts", "posts") && !is_same_table(0, "Posts", "posts"));
    }
}

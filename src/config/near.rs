//! "Did you mean": the known name that is closest to a wrong one.

/// `; did you mean ..?` when one of `known` is close to `name`, else nothing.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let name = name.to_lowercase();
    let length = name.chars().count();
    let allowed = (length / 3).clamp(1, 3);
    known
        .into_iter()
        // Comparing long names takes long.
        .filter(|other| other.chars().count().abs_diff(length) <= allowed)
        .map(|other| {
            (
                strsim::damerau_levenshtein(&name, &other.to_lowercase()),
                other,
            )
        })
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, other)| format!("; did you mean `{other}`?"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::did_you_mean;

    #[test]
    fn only_close_names_are_offered() {
        let known = ["views", "likes", "post_id"];
        assert_eq!(did_you_mean("veiws", known), "; did you mean `views`?");
        assert_eq!(did_you_mean("VIEW", known), "; did you mean `views`?");
        assert_eq!(did_you_mean("postid", known), "; did you mean `post_id`?");
        assert_eq!(did_you_mean("dislikes_x", known), "");
        assert_eq!(did_you_mean("x", known), "");
    }
}

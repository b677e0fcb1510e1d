//! `${NAME}` in values: substituted after the YAML is parsed, so that a value cannot inject YAML.

use super::error::Problem;

/// Answers for a variable.
pub(super) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Replaces `${NAME}`, `${NAME:-default}` (unset or empty) and `$$`; any other dollar sign stays as it is.
/// What is put in is not looked at again.
///
/// # Errors
///
/// [`Problem::Unset`] or [`Problem::Substitution`].
pub(super) fn substitute(text: &str, environment: Environment<'_>) -> Result<String, Problem> {
    let mut done = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(dollar) = rest.find('$') {
        done.push_str(&rest[..dollar]);
        rest = &rest[dollar + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            done.push('$');
            rest = after;
        } else if let Some(after) = rest.strip_prefix('{') {
            let end = after.find('}').ok_or(Problem::Substitution)?;
            done.push_str(&variable(&after[..end], environment)?);
            rest = &after[end + 1..];
        } else {
            done.push('$');
        }
    }
    done.push_str(rest);
    Ok(done)
}

/// The value of `NAME` or `NAME:-default`.
fn variable(inside: &str, environment: Environment<'_>) -> Result<String, Problem> {
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    let starts_well = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if !starts_well || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(Problem::Substitution);
    }
    match (environment(name), default) {
        (Some(value), Some(default)) if value.is_empty() => Ok(default.to_owned()),
        (Some(value), _) => Ok(value),
        (None, Some(default)) => Ok(default.to_owned()),
        (None, None) => Err(Problem::Unset {
            name: name.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> Result<String, String> {
        substitute(text, &|name| match name {
            "USER" => Some("anna".to_owned()),
            "EMPTY" => Some(String::new()),
            "EVIL" => Some("${USER}: [x]".to_owned()),
            _ => None,
        })
        .map_err(|problem| problem.to_string())
    }

    #[test]
    fn variables_defaults_and_dollars() {
        for (text, expected) in [
            ("plain", "plain"),
            ("${USER}", "anna"),
            ("a ${USER} b ${USER}", "a anna b anna"),
            ("${NONE:-some}", "some"),
            ("${EMPTY:-some}", "some"),
            ("${EMPTY}", ""),
            ("${NONE:-}", ""),
            ("${USER:-other}", "anna"),
            ("${EVIL}", "${USER}: [x]"),
            ("pa$word$", "pa$word$"),
            ("$${USER}", "${USER}"),
            ("$$$$", "$$"),
            ("ü${USER}ü", "üannaü"),
        ] {
            assert_eq!(with(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn an_unset_variable_is_named_with_the_remedy() {
        assert_eq!(
            with("x${NONE}").unwrap_err(),
            "the environment variable NONE is not set; set it, or write ${NONE:-default}"
        );
    }

    #[test]
    fn broken_references_are_refused() {
        for text in ["${", "${}", "${USER", "${1A}", "${A B}", "${:-x}"] {
            assert!(with(text).unwrap_err().starts_with("`${` begins"), "{text}");
        }
    }
}

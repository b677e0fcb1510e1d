//! A struct with many bools has states that no code means. Bools that belong together are an enum or a struct.

use crate::layers::assert_none;
use crate::sources::with_crates;

/// The most bools of a struct.
const MOST_BOOLS: usize = 4;

/// Structs that may have more, each with a reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    (
        "SessionVariables",
        "each is a variable or an SQL mode of the server's, and any of them may be on",
    ),
    (
        "ResponseTracker",
        "half of them are capabilities of the connection, and any of these may be agreed on",
    ),
];

/// The structs in a text: their names, and how many of their fields are bools.
fn structs(text: &str) -> Vec<(&str, usize)> {
    let mut found: Vec<(&str, usize)> = Vec::new();
    let mut is_inside = false;
    for line in text.lines().map(str::trim) {
        let declared = line
            .trim_start_matches("pub(crate) ")
            .trim_start_matches("pub(super) ")
            .trim_start_matches("pub ")
            .strip_prefix("struct ")
            .filter(|_| line.ends_with('{'));
        if let Some(declared) = declared {
            let end = declared.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
            found.push((&declared[..end.unwrap_or(declared.len())], 0));
            is_inside = true;
        } else if line == "}" {
            is_inside = false;
        } else if is_inside && line.ends_with(": bool,") && !line.starts_with("//") {
            found.last_mut().expect("the struct around it").1 += 1;
        }
    }
    found
}

#[test]
fn a_struct_has_a_few_bools_at_most() {
    let sources = with_crates();
    let all = sources.iter().flat_map(|source| {
        let of_file = structs(&source.text);
        of_file
            .into_iter()
            .map(|(name, bools)| (source.name.as_str(), name, bools))
    });
    let (many, few): (Vec<_>, Vec<_>) = all.partition(|(.., bools)| *bools > MOST_BOOLS);
    let is_excepted = |struct_name: &str| {
        EXCEPTIONS
            .iter()
            .any(|(excepted, _)| *excepted == struct_name)
    };
    let too_many: Vec<_> = many
        .iter()
        .filter(|(_, name, _)| !is_excepted(name))
        .map(|(file, name, bools)| format!("{file}: {name} has {bools}, at most {MOST_BOOLS}"))
        .collect();
    assert_none("a struct has too many bools", &too_many);
    let unused: Vec<_> = EXCEPTIONS
        .iter()
        .filter(|(excepted, _)| !many.iter().any(|(_, name, _)| name == excepted))
        .map(|(excepted, _)| (*excepted).to_owned())
        .collect();
    assert_none("an exception that nobody needs", &unused);
    assert!(few.len() > 100, "structs are not found");
}

#[test]
fn bools_are_counted_in_each_struct() {
    let text = "pub(crate) struct Two<'a> {\n    pub a: bool,\n    /// A comment: bool,\n    b: &'a [bool],\n    c: bool,\n}\n\
                impl Two<'_> {\n    is_bool: bool,\n}\nstruct One {\n    a: bool,\n}\nstruct None;\n";
    assert_eq!(structs(text), [("Two", 2), ("One", 1)]);
}

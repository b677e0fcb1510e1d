use super::*;

fn parse(text: &str) -> Result<Config, String> {
    Config::from_str(text, &|name| match name {
        "PASSWORD" => Some("hunter2".to_owned()),
        "SLOTS" => Some("16".to_owned()),
        _ => None,
    })
    .map_err(|error| error.to_string())
}

#[test]
fn zz_explore() {
    for text in [
        "", "# nothing\n", "[]", "hunter2", "upstream: a:1\ncounters:\n- tabel: a\n", "upstream: a:1\nupstream: b:2\n",
        "upstream: a:1\ncontrol: hunter2\n", "control:\n  password: [hunter2]\n", "control:\n  password: {a: hunter2}\n",
        "control:\n  password: \"hunter2\n", "control: {password: ${PASSWORD}}\n", "counters: hunter2\n", "counters:\n - hunter2\n",
        "upstream: a:1\ncounters:\n- table: a.b\n  columns: views\n", "upstream: !!binary aGk=\n", "upstream: a:1\n---\nupstream: b:1\n",
        "upstream: a:1\ncontrol:\n  password: 012\n  hunter2: x\ncounters:\n- table: a.b\n  columns: [views]", "\tupstream: a", "upstream: a:1\n bad: x\n",
        "upstream: a:1\ncontrol:\n  password:\n  user: ~\ncounters:\n- table: a.b\n  columns: [views]\n  slots: ${SLOTS}",
        "upstream: a:1\ncontrol:\n  password: 0123_4\n  user: true\ncounters:\n- table: a.b\n  columns: [views]\n  slots: 0x10",
        "upstream: a:1\ncounters:\n- table: a.b\n  columns: [on, 1e3, null]\n  slots: 1_0",
        "upstream: a:1\ncounters:\n- table: a.b\n  columns: [views, Views]\n",
        "upstream: a:1\ncontrol:\n  password: *hunter2\n", "upstream: a:1\ncontrol:\n  hunter2\n",
    ] {
        println!("---- {text}\n=> {:?}", parse(text).map(|c| (c.control, c.rules)));
    }
}

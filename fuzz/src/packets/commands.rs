//! Commands with parameters and attributes.

use crate::input::Input;
use crate::wire::bulk_execute::BulkExecute;
use crate::wire::execute::{Execute, Value, skip_attributes, text_attribute};
use crate::wire::reader::Reader;

/// The number of parameters is in front.
pub(super) const EXECUTES: &[&[u8]] = &[
    b"\x02\0\x17\x07\0\0\0\0\x01\0\0\0\x02\x01\x03\0\xfd\0\x01\0\xff\xff\xff\xff",
    b"\x01\0\x17\x07\0\0\0\x09\x01\0\0\0\x03\x02\x01\xfd\0\0\xfd\0\x05other\xfd\0\x0btraceparent\x05value\x04what",
    b"\x03\0\x17\x07\0\0\0\0\x01\0\0\0\0\x01\x0c\0\x05\0\xf6\0\x07\xe8\x07\x02\x1d\x17\x3b\x3a\0\0\0\0\0\0\xf0\x3f\x031.5",
];

pub(super) const BULK_EXECUTES: &[&[u8]] = &[
    b"\x02\0\xfa\x07\0\0\0\x80\0\x03\0\xfd\0\0\x01\0\0\0\0\x03one\x01\x02\0\x02\0\0\0\x03",
    b"\x01\0\xfa\x07\0\0\0\0\0\0\x01\0\0\0",
];

pub(super) const ATTRIBUTES: &[&[u8]] = &[
    b"\x17\x07\0\0\0\x08\x01\0\0\0\x03\x02\x01\xfd\0\0\xfd\0\x05other\xfd\0\x0btraceparent\x05value\x04what",
    b"\x03\x01\x01\0\x01\xfd\0\x0btraceparent\x04whatSELECT 1",
];

/// A value as it can be compared: one that is no number equals itself here.
fn shown(values: &[Value<'_>]) -> String {
    format!("{values:?}")
}

pub(super) fn execute(capabilities: u64, payload: &[u8]) {
    let mut input = Input(payload);
    let parameters = input.two_bytes();
    let Ok(execute) = Execute::decode(input.0, parameters, capabilities) else {
        return;
    };
    // The server is sent the types with each execution, whether or not the client has sent them again.
    let types = execute.types.unwrap_or_default();
    if let Some(count) = execute.count
        && execute.types.is_none()
        && count > 0
    {
        return;
    }
    let encoded = execute.encode(9, types);
    let again = Execute::decode(&encoded, parameters, capabilities).expect("our own packet");
    let expected = Execute {
        statement_id: 9,
        ..execute
    };
    assert_eq!(again, expected, "encoded again");
    let plain = execute.without_cursor();
    assert_eq!(
        Execute {
            flags: execute.flags,
            ..plain
        },
        execute,
        "without a cursor only flags differ"
    );
    if let Ok(values) = execute.values(parameters, types, capabilities) {
        assert_eq!(values.len(), usize::from(parameters), "each has a value");
        let others = again.values(parameters, types, capabilities);
        assert_eq!(
            shown(&others.expect("they are the same")),
            shown(&values),
            "encoded again"
        );
    }
}

pub(super) fn bulk_execute(_capabilities: u64, payload: &[u8]) {
    let mut input = Input(payload);
    let parameters = input.two_bytes();
    let Ok(command) = BulkExecute::decode(input.0, parameters) else {
        return;
    };
    let types = command.types.unwrap_or(b"\x03\0");
    let mut has_failed = false;
    let mut rows = 0;
    for row in command.rows(types) {
        assert!(!has_failed, "nothing comes behind an error");
        rows += 1;
        match row {
            Ok(values) => assert_eq!(values.len(), types.len() / 2, "each has a value"),
            Err(_) => has_failed = true,
        }
    }
    assert!(rows <= payload.len(), "a row takes a byte at least");
}

pub(super) fn attributes(_capabilities: u64, payload: &[u8]) {
    for name in [&b"traceparent"[..], b"other", b""] {
        if let Ok(Some(text)) = text_attribute(payload, name) {
            let is_there =
                |part: &[u8]| part.is_empty() || memchr::memmem::find(payload, part).is_some();
            assert!(
                is_there(text) && is_there(name),
                "an attribute that is not there"
            );
        }
    }
    // As a COM_QUERY is read: a count, the number of sets, the attributes, the text.
    let mut reader = Reader::new(payload);
    let read = (|| {
        reader.u8()?;
        let count = reader.lenenc()?;
        reader.lenenc()?;
        match usize::try_from(count) {
            Ok(count @ 1..) => skip_attributes(&mut reader, count),
            _ => Ok(()),
        }
    })();
    if read.is_ok() {
        assert!(payload.ends_with(reader.rest()), "what follows is left");
    }
}

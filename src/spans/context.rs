//! The trace that a statement belongs to, as its application says.

use memchr::memmem;

/// The name of the comment's key, and of the query attribute, in which an application says it.
pub const TRACEPARENT: &[u8] = b"traceparent";

/// A span of the application, or one of ours: what others are children of, or are linked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanContext {
    /// Of the trace.
    pub trace_id: [u8; 16],
    /// Of the span within it.
    pub span_id: [u8; 8],
}

impl SpanContext {
    /// A new span of the same trace.
    pub fn child(&self) -> Self {
        Self {
            span_id: rand::random::<[u8; 8]>(),
            ..*self
        }
    }

    /// Reads a `traceparent` (W3C Trace Context): `00-<trace id>-<span id>-<flags>`, in hexadecimal digits. `None` if
    /// it is malformed, or if the application does not record this trace.
    pub fn of_traceparent(text: &[u8]) -> Option<Self> {
        const SAMPLED: u8 = 1;
        const VERSION: std::ops::Range<usize> = 0..2;
        const LENGTH: usize = 55;
        const NO_VERSION: u8 = 0xFF;
        let head = text.get(..LENGTH)?;
        let [version] = hexadecimal(&head[VERSION])?;
        let is_whole = match version {
            NO_VERSION => false,
            0 => text.len() == LENGTH,
            // Later versions may append to it.
            _ => text.get(LENGTH).is_none_or(|byte| *byte == b'-'),
        };
        if !is_whole || [head[2], head[35], head[52]] != *b"---" {
            return None;
        }
        let context = Self {
            trace_id: hexadecimal(&head[3..35])?,
            span_id: hexadecimal(&head[36..52])?,
        };
        let [flags] = hexadecimal(&head[53..])?;
        let is_named = context.trace_id != [0; 16] && context.span_id != [0; 8];
        (is_named && flags & SAMPLED != 0).then_some(context)
    }

    /// The one that a comment of a statement names, as sqlcommenter and the instrumentations of OpenTelemetry write it:
    /// `/*traceparent='00-..-..-01'*/`, with or without other keys.
    pub fn in_comment(statement: &[u8]) -> Option<Self> {
        let at = memmem::rfind(statement, TRACEPARENT)?;
        let opened = memmem::rfind(&statement[..at], b"/*")?;
        let rest = &statement[at + TRACEPARENT.len()..];
        let end = memmem::find(rest, b"*/")?;
        if memmem::find(&statement[opened..at], b"*/").is_some() {
            return None;
        }
        let rest = rest[..end].strip_prefix(b"=")?;
        let quote = rest.first().filter(|byte| matches!(byte, b'\'' | b'"'));
        let value = match quote {
            Some(quote) => {
                let value = &rest[1..];
                &value[..memchr::memchr(*quote, value)?]
            }
            None => {
                let ends = |byte: &u8| matches!(byte, b',' | b' ');
                let end = rest.iter().position(ends).unwrap_or(rest.len());
                &rest[..end]
            }
        };
        Self::of_traceparent(value)
    }
}

/// Lower-case digits, as W3C asks for.
fn hexadecimal<const LENGTH: usize>(digits: &[u8]) -> Option<[u8; LENGTH]> {
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; LENGTH];
    let (pairs, []) = digits.as_chunks::<2>() else {
        return None;
    };
    if pairs.len() != LENGTH {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = value(*high)? << 4 | value(*low)?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn comment(text: &str) -> Option<SpanContext> {
        SpanContext::in_comment(text.as_bytes())
    }

    #[test]
    fn a_traceparent_is_read() {
        let context = SpanContext::of_traceparent(PARENT.as_bytes()).expect("a context");
        assert_eq!(context.trace_id[..2], [0x4b, 0xf9]);
        assert_eq!(context.span_id[6..], [0x02, 0xb7]);
        let child = context.child();
        assert_eq!(child.trace_id, context.trace_id);
        assert_ne!(child.span_id, context.span_id);
    }

    #[test]
    fn what_is_malformed_or_not_recorded_is_none() {
        let wrong = [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what",
            "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.what",
        ];
        for text in wrong {
            assert_eq!(SpanContext::of_traceparent(text.as_bytes()), None, "{text}");
        }
        let later = PARENT.replace("00-4", "01-4") + "-what";
        assert!(SpanContext::of_traceparent(later.as_bytes()).is_some());
    }

    #[test]
    fn comments_of_every_spelling_are_read() {
        for text in [
            format!("SELECT 1 /*traceparent='{PARENT}'*/"),
            format!("/*db_driver='x',traceparent='{PARENT}',tracestate='a%3D1'*/ SELECT 1"),
            format!("SELECT /* traceparent={PARENT} */ 1"),
            format!("SELECT 1 /* traceparent=\"{PARENT}\" */ -- the end"),
        ] {
            assert!(comment(&text).is_some(), "{text}");
        }
        for text in [
            format!("INSERT INTO posts VALUES ('traceparent={PARENT}')"),
            format!("SELECT /* no */ 'traceparent={PARENT}' /* no */"),
            format!("SELECT 1 /*traceparent='{PARENT}"),
            "SELECT 1 /*traceparent='*/".to_owned(),
            "SELECT traceparent".to_owned(),
        ] {
            assert_eq!(comment(&text), None, "{text}");
        }
    }
}

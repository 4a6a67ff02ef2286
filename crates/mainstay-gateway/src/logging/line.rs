//! The line of a request, as `tracing-subscriber` would write it, at a twentieth of the price.
//!
//! The general formatter asks for spans and colours and puts each value through a formatter of its own. The line of a
//! request has no span, and its values are numbers, words of ours and a few strings that hardly ever need an escape.

use super::time;
use crate::app::REQUEST_LINE;
use std::{
    fmt::{self, Debug, Write},
    time::SystemTime,
};
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

/// Writes the lines of requests itself and leaves all others to `F`.
#[derive(Debug)]
pub(super) struct RequestLines<F> {
    others: F,
    json: bool,
}

impl<F> RequestLines<F> {
    /// As text.
    pub(super) fn text(others: F) -> Self {
        Self { others, json: false }
    }

    /// As JSON.
    pub(super) fn json(others: F) -> Self {
        Self { others, json: true }
    }
}

impl<S, N, F> FormatEvent<S, N> for RequestLines<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let meta = event.metadata();
        // A terminal has colours, and nobody who reads it in a hurry.
        if meta.target() != REQUEST_LINE || *meta.level() != Level::INFO || writer.has_ansi_escapes() {
            return self.others.format_event(context, writer, event);
        }
        if self.json {
            writer.write_str("{\"timestamp\":\"")?;
            time::write(SystemTime::now(), &mut writer)?;
            writer.write_str("\",\"level\":\"INFO\",\"fields\":{")?;
            let mut fields = Json { to: &mut writer, first: true, result: Ok(()) };
            event.record(&mut fields);
            fields.result?;
            writer.write_str("},\"target\":\"")?;
            writer.write_str(meta.target())?;
            writer.write_str("\"}\n")
        } else {
            time::write(SystemTime::now(), &mut writer)?;
            writer.write_str("  INFO ")?;
            writer.write_str(meta.target())?;
            writer.write_str(":")?;
            let mut fields = Text { to: &mut writer, result: Ok(()) };
            event.record(&mut fields);
            fields.result?;
            writer.write_char('\n')
        }
    }
}

/// Whether a string stands between quotes as it is: most do, and looking is cheaper than escaping.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\')
}

/// `1234` as text, without the machinery for widths and signs.
fn write_number(mut number: u64, to: &mut dyn Write) -> fmt::Result {
    let mut digits = [b'0'; 20];
    let mut from = digits.len();
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
        from -= 1;
        if number == 0 {
            break;
        }
    }
    let digits = digits.get(from..).unwrap_or_default();
    to.write_str(std::str::from_utf8(digits).unwrap_or_default())
}

/// ` name=value` for each field; the message alone has no name.
struct Text<'a> {
    to: &'a mut dyn Write,
    result: fmt::Result,
}

impl Text<'_> {
    fn field(&mut self, field: &Field, value: impl FnOnce(&mut dyn Write) -> fmt::Result) {
        if self.result.is_err() {
            return;
        }
        let name = field.name();
        self.result = self.to.write_char(' ').and_then(|()| match name {
            "message" => Ok(()),
            name => self.to.write_str(name).and_then(|()| self.to.write_char('=')),
        });
        if self.result.is_ok() {
            self.result = value(self.to);
        }
    }
}

impl Visit for Text<'_> {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.field(field, |to| write_number(value, to));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.field(field, |to| to.write_str(if value { "true" } else { "false" }));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.field(field, |to| match is_plain(value) {
            true => to.write_char('"').and_then(|()| to.write_str(value)).and_then(|()| to.write_char('"')),
            false => write!(to, "{value:?}"),
        });
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.field(field, |to| write!(to, "{value:?}"));
    }
}

/// `"name":value` for each field.
struct Json<'a> {
    to: &'a mut dyn Write,
    first: bool,
    result: fmt::Result,
}

impl Json<'_> {
    fn field(&mut self, field: &Field, value: impl FnOnce(&mut dyn Write) -> fmt::Result) {
        if self.result.is_err() {
            return;
        }
        let comma = if std::mem::take(&mut self.first) { "\"" } else { ",\"" };
        self.result = self
            .to
            .write_str(comma)
            .and_then(|()| self.to.write_str(field.name()))
            .and_then(|()| self.to.write_str("\":"));
        if self.result.is_ok() {
            self.result = value(self.to);
        }
    }
}

/// Writes a string's content as JSON has it.
struct Escaped<'a>(&'a mut dyn Write);

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if is_plain(text) {
            return self.0.write_str(text);
        }
        let quoted = serde_json::to_string(text).map_err(|_| fmt::Error)?;
        self.0.write_str(quoted.get(1..quoted.len() - 1).unwrap_or_default())
    }
}

impl Visit for Json<'_> {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.field(field, |to| write_number(value, to));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.field(field, |to| write!(to, "{value}"));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.field(field, |to| to.write_str(if value { "true" } else { "false" }));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.field(field, |to| {
            to.write_char('"')?;
            Escaped(to).write_str(value)?;
            to.write_char('"')
        });
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.field(field, |to| {
            to.write_char('"')?;
            write!(Escaped(to), "{value:?}")?;
            to.write_char('"')
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::{
        io,
        sync::{Arc, Mutex},
    };
    use tracing_subscriber::fmt::{MakeWriter, SubscriberBuilder, format::Format};

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl MakeWriter<'_> for Written {
        type Writer = Self;
        fn make_writer(&self) -> Self {
            self.clone()
        }
    }

    impl Written {
        fn lines(&self) -> Vec<String> {
            let all = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
            all.lines().map(str::to_owned).collect()
        }
    }

    fn log() {
        for (id, model) in [("req_1", "gpt-9"), ("a\"b\\c", "é\n\u{1b}[31m\u{7f}")] {
            tracing::info!(
                target: REQUEST_LINE,
                id,
                model,
                stream = true,
                provider = Some(tracing::field::display("one/two \"3\"")),
                status = 200_u16,
                their_id = None::<&str>,
                ms = u64::MAX,
                none = 0_u64,
                cost_usd = Some(tracing::field::display(0.25)),
                "request"
            );
        }
        tracing::warn!(target: REQUEST_LINE, x = -1, "not a request");
        tracing::info!(n = 1, "something else");
    }

    /// All lines of a log, with the same time in all.
    fn written(
        subscriber: impl FnOnce(Written) -> Box<dyn tracing::Subscriber + Send + Sync>,
    ) -> Vec<String> {
        let to = Written::default();
        tracing::subscriber::with_default(subscriber(to.clone()), log);
        let lines = to.lines();
        lines
            .iter()
            .map(|line| match line.split_once("Z") {
                Some((before, rest)) => {
                    assert_eq!(before.trim_start_matches("{\"timestamp\":\"").len(), 26, "{line}");
                    rest.to_owned()
                }
                None => panic!("{line}"),
            })
            .collect()
    }

    fn plain() -> SubscriberBuilder {
        tracing_subscriber::fmt().with_ansi(false)
    }

    #[test]
    fn a_line_is_what_the_general_formatter_makes_of_it() {
        let ours = written(|to| {
            Box::new(plain().event_format(RequestLines::text(Format::default())).with_writer(to).finish())
        });
        let general = written(|to| Box::new(plain().with_writer(to).finish()));
        assert_eq!(ours, general);
        assert_eq!(ours.len(), 4);
    }

    #[test]
    fn json_says_the_same_too() {
        let json = |lines: Vec<String>| -> Vec<Value> {
            lines.iter().map(|rest| serde_json::from_str(&format!("{{\"t\":\"{rest}")).unwrap()).collect()
        };
        let ours = json(written(|to| {
            Box::new(plain().json().map_event_format(RequestLines::json).with_writer(to).finish())
        }));
        let general = json(written(|to| Box::new(plain().json().with_writer(to).finish())));
        assert_eq!(ours, general);
        assert_eq!(ours[1]["fields"]["id"], "a\"b\\c");
    }

    #[test]
    fn numbers_are_whole() {
        for number in [0, 7, 10, 99, 100, 123_456_789, u64::MAX] {
            let mut text = String::new();
            write_number(number, &mut text).unwrap();
            assert_eq!(text, number.to_string());
        }
    }
}

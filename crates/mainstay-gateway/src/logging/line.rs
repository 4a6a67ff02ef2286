//! The line of a request, as `tracing-subscriber` would write it, at a twentieth of the price.
//!
//! The general formatter asks for spans and colours and puts each value through a formatter of its own. The line of a
//! request has no span, and its values are numbers, words of ours and a few strings that hardly ever need an escape.

use super::time;
use crate::app::REQUEST_LINE;
use std::{
    cell::RefCell,
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
        LINE.with_borrow_mut(|line| {
            line.clear();
            if self.json {
                line.push_str("{\"timestamp\":\"");
                time::write(SystemTime::now(), line)?;
                line.push_str("\",\"level\":\"INFO\",\"fields\":{");
                let mut fields = Json { to: line, first: true, result: Ok(()) };
                event.record(&mut fields);
                fields.result?;
                line.push_str("},\"target\":\"");
                line.push_str(meta.target());
                line.push_str("\"}\n");
            } else {
                time::write(SystemTime::now(), line)?;
                line.push_str("  INFO ");
                line.push_str(meta.target());
                line.push(':');
                let mut fields = Text { to: line, result: Ok(()) };
                event.record(&mut fields);
                fields.result?;
                line.push('\n');
            }
            writer.write_str(line)
        })
    }
}

thread_local! {
    /// What is written is put together here: the writer takes each piece through two calls that nobody can inline.
    static LINE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Whether a string stands between quotes as it is: most do, and looking is cheaper than escaping.
fn is_plain(text: &str) -> bool {
    // All of it, without a branch for each byte: that is many bytes at a time.
    text.bytes()
        .fold(true, |plain, byte| plain & matches!(byte, b' '..=b'~') & (byte != b'"') & (byte != b'\\'))
}

fn push_number(number: u64, to: &mut String) {
    to.push_str(itoa::Buffer::new().format(number));
}

/// ` name=value` for each field; the message alone has no name.
struct Text<'a> {
    to: &'a mut String,
    result: fmt::Result,
}

impl Text<'_> {
    /// Where the value of a field goes.
    fn field(&mut self, field: &Field) -> &mut String {
        self.to.push(' ');
        if field.name() != "message" {
            self.to.push_str(field.name());
            self.to.push('=');
        }
        self.to
    }
}

impl Visit for Text<'_> {
    fn record_u64(&mut self, field: &Field, value: u64) {
        push_number(value, self.field(field));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.field(field).push_str(if value { "true" } else { "false" });
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if !is_plain(value) {
            return self.record_debug(field, &value);
        }
        let to = self.field(field);
        to.push('"');
        to.push_str(value);
        to.push('"');
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let written = write!(self.field(field), "{value:?}");
        self.result = self.result.and(written);
    }
}

/// `"name":value` for each field.
struct Json<'a> {
    to: &'a mut String,
    first: bool,
    result: fmt::Result,
}

impl Json<'_> {
    /// Where the value of a field goes.
    fn field(&mut self, field: &Field) -> &mut String {
        self.to.push_str(if std::mem::take(&mut self.first) { "\"" } else { ",\"" });
        self.to.push_str(field.name());
        self.to.push_str("\":");
        self.to
    }
}

/// Writes a string's content as JSON has it.
struct Escaped<'a>(&'a mut String);

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if is_plain(text) {
            self.0.push_str(text);
            return Ok(());
        }
        let quoted = serde_json::to_string(text).map_err(|_| fmt::Error)?;
        self.0.push_str(quoted.get(1..quoted.len() - 1).unwrap_or_default());
        Ok(())
    }
}

impl Visit for Json<'_> {
    fn record_u64(&mut self, field: &Field, value: u64) {
        push_number(value, self.field(field));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.field(field).push_str(itoa::Buffer::new().format(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.field(field).push_str(if value { "true" } else { "false" });
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let to = self.field(field);
        to.push('"');
        let written = Escaped(to).write_str(value);
        to.push('"');
        self.result = self.result.and(written);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let to = self.field(field);
        to.push('"');
        let written = write!(Escaped(to), "{value:?}");
        to.push('"');
        self.result = self.result.and(written);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;
    use serde_json::Value;
    use std::{io, sync::Arc};
    use tracing_subscriber::fmt::{MakeWriter, SubscriberBuilder, format::Format};

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
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
            let all = String::from_utf8(self.0.lock().clone()).unwrap();
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
}

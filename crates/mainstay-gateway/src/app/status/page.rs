//! The status page.

use super::seen::{Circuit, Cools, OfRoute, OfTarget, Quantiles, Seen};
use std::fmt::{self, Display, Write};

const STYLE: &str = include_str!("page.css");

/// The page; with `refresh` it reloads itself every so many seconds.
pub(super) fn render(seen: &Seen, refresh: Option<u32>) -> String {
    let mut out = String::with_capacity(4096 + 1024 * seen.targets.len());
    // Writing to a String does not fail.
    let _ = write(&mut out, seen, refresh);
    out
}

fn write(out: &mut String, seen: &Seen, refresh: Option<u32>) -> fmt::Result {
    out.write_str(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>Mainstay: status</title>",
    )?;
    if let Some(seconds) = refresh {
        write!(out, "<meta http-equiv=\"refresh\" content=\"{seconds}\">")?;
    }
    write!(
        out,
        "<style>{STYLE}</style></head><body><header><h1>Mainstay <small>{}</small></h1><p>",
        seen.version
    )?;
    let state = if seen.draining { ("bad", "draining") } else { ("good", "ready") };
    write!(out, "<b class=\"{}\">{}</b> ", state.0, state.1)?;
    let of = |class: &str| seen.targets.iter().filter(|target| state_of(target).0 == class).count();
    write!(
        out,
        "{} targets: {} well, {} doubtful, {} out",
        seen.targets.len(),
        of("good"),
        of("warn"),
        of("bad")
    )?;
    match refresh {
        Some(seconds) => write!(out, " <a href=\"/status\">every {seconds} s: stop</a>")?,
        None => out.write_str(" <a href=\"/status?refresh=5\">reload every 5 s</a>")?,
    }
    out.write_str(" <a href=\"/status.json\">JSON</a> <a href=\"/metrics\">metrics</a></p></header><main><h2>Targets</h2><div class=\"cards\">")?;
    for target in &seen.targets {
        card(out, target)?;
    }
    out.write_str("</div><h2>Routes</h2>")?;
    routes(out, &seen.routes)?;
    out.write_str("</main></body></html>\n")
}

/// How a target is, as a colour and a word.
fn state_of(target: &OfTarget) -> (&'static str, &'static str) {
    let state = target.circuit.as_ref().map_or("closed", |circuit| circuit.state);
    match state {
        "open" => ("bad", "open"),
        _ if !target.cooldowns.is_empty() => ("warn", "cooling"),
        "half_open" => ("warn", "half-open"),
        _ => ("good", "closed"),
    }
}

fn card(out: &mut String, target: &OfTarget) -> fmt::Result {
    let (class, word) = state_of(target);
    write!(
        out,
        "<section class=\"{class}\"><h3>{} <b class=\"{class}\">{word}</b></h3><table>",
        Escaped(&target.target)
    )?;
    match &target.circuit {
        Some(circuit) => of_circuit(out, circuit)?,
        None => row(out, "Circuit", "none")?,
    }
    for cools in &target.cooldowns {
        cooldown(out, cools)?;
    }
    row(out, "In flight", InFlight(target))?;
    row(out, "First event", &target.time_to_first_event)?;
    row(out, "Whole reply", &target.time_to_whole_reply)?;
    out.write_str("</table></section>")
}

fn of_circuit(out: &mut String, circuit: &Circuit) -> fmt::Result {
    let by_hand = if circuit.forced { ", held by hand" } else { "" };
    let state = circuit.state.replace('_', "-");
    row(out, "Circuit", format_args!("{state} for {}{by_hand}", Span(circuit.since_s)))?;
    row(out, "Failures", format_args!("{} in a row", circuit.failures_in_a_row))?;
    if let Some(left) = circuit.next_probe_in_s {
        row(out, "Next probe", format_args!("in {}", Span(left)))?;
    }
    if circuit.probes_in_flight > 0 {
        row(out, "Probes", format_args!("{} in flight", circuit.probes_in_flight))?;
    }
    if circuit.opened_total > 0 {
        let (opened, rejected) = (circuit.opened_total, circuit.rejected_total);
        row(out, "So far", format_args!("{opened} &times; opened, {rejected} calls refused"))?;
    }
    Ok(())
}

fn cooldown(out: &mut String, cools: &Cools) -> fmt::Result {
    let whose = if cools.scope == "key" { "its key" } else { "it" };
    write!(
        out,
        "<tr><th>Cooling</th><td>{whose}, for {}: {} ({})",
        Span(cools.left_s),
        cools.class,
        cools.status
    )?;
    if let Some(model) = &cools.model {
        write!(out, "<br>model {}", Escaped(model))?;
    }
    if let Some(message) = &cools.message {
        let message: String = message.chars().take(300).collect();
        write!(out, "<br><q>{}</q>", Escaped(&message))?;
    }
    out.write_str("</td></tr>")
}

fn routes(out: &mut String, routes: &[OfRoute]) -> fmt::Result {
    if routes.is_empty() {
        return out.write_str("<p>None: callers name the provider, as <code>provider/model</code>.</p>");
    }
    out.write_str("<div class=\"cards\">")?;
    for route in routes {
        out.write_str("<section><h3>")?;
        for (at, model) in route.models.iter().enumerate() {
            out.write_str(if at == 0 { "" } else { ", " })?;
            match model.contains('*') {
                true => write!(out, "{}", Escaped(model))?,
                false => write!(out, "<a href=\"/explain?model={}\">{}</a>", Encoded(model), Escaped(model))?,
            }
        }
        out.write_str("</h3><ol>")?;
        for listed in &route.targets {
            write!(out, "<li>{}", Escaped(&listed.target))?;
            if let Some(capable) = &listed.capabilities {
                write!(out, " <small>{}</small>", Escaped(&capable.words))?;
            }
            out.write_str("</li>")?;
        }
        write!(out, "</ol><p>{}", route.strategy)?;
        for option in &route.options {
            write!(out, ", {option}")?;
        }
        out.write_str("</p></section>")?;
    }
    out.write_str("</div>")
}

fn row(out: &mut String, head: &str, value: impl Display) -> fmt::Result {
    write!(out, "<tr><th>{head}</th><td>{value}</td></tr>")
}

impl Display for Quantiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.p50_ms, self.p95_ms) {
            (Some(p50), Some(p95)) => write!(f, "p50 {p50} ms, p95 {p95} ms"),
            _ => f.write_str("not known: fewer than 20 answers"),
        }
    }
}

/// The calls of a target, and what bounds them.
struct InFlight<'t>(&'t OfTarget);

impl Display for InFlight<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OfTarget { in_flight, waiting, concurrency, .. } = self.0;
        write!(f, "{in_flight}")?;
        if let Some(limits) = concurrency {
            if let Some(limit) = limits.limit {
                write!(f, " of {limit}")?;
            }
            if let (Some(floor), Some(ceiling)) = (limits.floor, limits.ceiling) {
                write!(f, " (adapts from {floor} to {ceiling})")?;
            }
            if let (Some(there), Some(most)) = (limits.bytes_in_flight, limits.bytes_limit) {
                write!(f, ", {there} of {most} bytes")?;
            }
        }
        match waiting {
            None | Some(0) => Ok(()),
            Some(waiting) => write!(f, ", {waiting} waiting"),
        }
    }
}

/// Seconds, in the two units that matter.
struct Span(f64);

impl Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.0.max(0.0);
        let whole = all as u64;
        let (days, hours, minutes, seconds) =
            (whole / 86_400, whole / 3600 % 24, whole / 60 % 60, whole % 60);
        match (days, hours, minutes) {
            (0, 0, 0) if whole < 10 => write!(f, "{all:.1} s"),
            (0, 0, 0) => write!(f, "{seconds} s"),
            (0, 0, _) => write!(f, "{minutes} m {seconds} s"),
            (0, _, _) => write!(f, "{hours} h {minutes} m"),
            _ => write!(f, "{days} d {hours} h"),
        }
    }
}

/// Text in HTML, between tags and in attributes.
struct Escaped<'t>(&'t str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

/// A value in a query.
struct Encoded<'t>(&'t str);

impl Display for Encoded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0.bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                    f.write_char(byte.into())?
                }
                other => write!(f, "%{other:02X}")?,
            }
        }
        Ok(())
    }
}

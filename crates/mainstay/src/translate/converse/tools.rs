//! The tools of a request for `Converse`.

use super::{
    blocks::{fit_name, is_fit_name, write_mark},
    family::Family,
};
use crate::translate::{
    error::{Losses, Refused},
    form::{Choice, Request},
    json::Lit,
    out::Out,
    parts::{calls, write_object_schema},
};

/// The field `toolConfig`, where there are tools.
pub(super) fn write_tools(
    request: &Request<'_>,
    family: Family,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    let mut called: Vec<&str> =
        request.turns.iter().flat_map(|turn| calls(&turn.parts)).map(|call| &*call.name).collect();
    called.sort_unstable();
    called.dedup();
    let forbidden = matches!(request.choice, Some(Choice::None));
    // Where none may be called, the tools need not be told, unless earlier turns called some: then they must be.
    if called.is_empty() && (forbidden || request.tools.is_empty()) {
        return Ok(());
    }
    if forbidden {
        losses.because(request.choice_name, "it cannot forbid tools in a conversation that called some")?;
    }
    out.key("toolConfig").open('{').key("tools").open('[');
    for (at, tool) in request.tools.iter().enumerate() {
        let name = tool.name.decode().unwrap_or_default();
        if !is_fit_name(&name) {
            losses
                .because(format!("tools[{at}]"), "a tool's name is up to 64 letters, digits, `_` and `-`")?;
        }
        write_tool(&name, tool.description.filter(|text| !text.is_blank()), tool.schema.as_deref(), out);
        // Nova's cache keeps no tools.
        if tool.mark && family == Family::Anthropic {
            write_mark(out);
        }
    }
    if request.tools.is_empty() {
        for name in called {
            write_tool(name, None, None, out);
        }
    }
    out.close(']');
    write_choice(request, losses, out)?;
    out.close('}');
    Ok(())
}

fn write_tool(name: &str, description: Option<Lit<'_>>, schema: Option<&str>, out: &mut Out) {
    out.open('{').key("toolSpec").open('{').field_str("name", &fit_name(name));
    if let Some(description) = description {
        out.field_lit("description", description);
    }
    out.key("inputSchema").open('{');
    write_object_schema("json", schema, out);
    out.close('}').close('}').close('}');
}

fn write_choice(request: &Request<'_>, losses: &mut Losses, out: &mut Out) -> Result<(), Refused> {
    let one = match &request.choice {
        _ if request.tools.is_empty() => return Ok(()),
        None | Some(Choice::None) => return Ok(()),
        Some(Choice::Auto) => Err("auto"),
        Some(Choice::Any) => Err("any"),
        Some(Choice::Tool(name)) => Ok(name),
        Some(Choice::Among { names, must }) => match (names.as_slice(), must) {
            ([name], true) => Ok(name),
            _ => {
                losses.because(request.choice_name, "it lets choose among all tools, or names one")?;
                Err(if *must { "any" } else { "auto" })
            }
        },
    };
    out.key("toolChoice").open('{');
    match one {
        Ok(name) => out.key("tool").open('{').field_str("name", &fit_name(name)).close('}'),
        Err(word) => out.key(word).open('{').close('}'),
    };
    out.close('}');
    Ok(())
}

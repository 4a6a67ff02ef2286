//! Tools, calls of them and the choice among them, in requests of `/v1/chat/completions` and those that took them over.

use crate::translate::{
    error::Refused,
    fields,
    form::{Call, Choice, Request, Tool},
    json::Json,
};
use std::borrow::Cow;

pub(super) fn read_call<'a>(
    at: &str,
    call: Json<'a>,
    request: &mut Request<'a>,
) -> Result<Option<Call<'a>>, Refused> {
    if call.get("type").is_some_and(|kind| !kind.is("function")) {
        request.lost(at.to_owned());
        return Ok(None);
    }
    let id = fields::needed_decoded(at, call, "id")?;
    let function = fields::needed(at, call, "function")?;
    function_call(&format!("{at}.function"), id, function).map(Some)
}

pub(super) fn function_call<'a>(at: &str, id: Cow<'a, str>, function: Json<'a>) -> Result<Call<'a>, Refused> {
    let name = fields::needed_decoded(at, function, "name")?;
    let arguments = read_arguments(&format!("{at}.arguments"), function.get("arguments"))?;
    Ok(Call { id, name, arguments })
}

/// The arguments of a call: an object, as text.
pub(in crate::translate) fn read_arguments<'a>(
    param: &str,
    value: Option<Json<'a>>,
) -> Result<Cow<'a, str>, Refused> {
    let arguments = match value {
        None => Cow::Borrowed("{}"),
        // Some send the object itself.
        Some(object) if object.is_object() => Cow::Borrowed(object.raw()),
        Some(text) => {
            let text = fields::decoded(param, text)?;
            if text.trim().is_empty() { Cow::Borrowed("{}") } else { text }
        }
    };
    match Json::check(arguments.as_bytes(), true) {
        Ok(json) if json.is_object() => Ok(arguments),
        Ok(_) => Err(Refused::wrong(param, "must hold a JSON object")),
        Err(what) => Err(Refused::wrong(param, format!("must hold a JSON object: {what}"))),
    }
}

pub(super) fn read_tool<'a>(at: &str, tool: Json<'a>, request: &mut Request<'a>) -> Result<(), Refused> {
    request.room("tools")?;
    let tool = fields::object(at, tool)?;
    match tool.get("type").and_then(Json::text).as_deref() {
        Some("function") | None => {
            let function = tool.get("function").unwrap_or(tool);
            request.tools.push(function_tool(at, function)?);
        }
        Some(_) => request.lost(at.to_owned()),
    }
    Ok(())
}

pub(in crate::translate) fn function_tool<'a>(at: &str, function: Json<'a>) -> Result<Tool<'a>, Refused> {
    let name = function.get("name").and_then(Json::lit);
    Ok(Tool {
        name: name.ok_or_else(|| Refused::wrong(at, "must be a function with a name"))?,
        description: function.get("description").and_then(Json::lit),
        schema: match function.get("parameters") {
            Some(schema) => {
                Some(Cow::Borrowed(fields::object(&format!("{at}.function.parameters"), schema)?.raw()))
            }
            None => None,
        },
        strict: function.get("strict").and_then(Json::as_bool),
        mark: false,
    })
}

pub(in crate::translate) fn read_choice<'a>(
    name: &'static str,
    choice: Json<'a>,
    request: &mut Request<'a>,
) -> Result<(), Refused> {
    request.choice_name = name;
    request.choice = Some(match choice.text().as_deref() {
        Some("auto") => Choice::Auto,
        Some("none") => Choice::None,
        Some("required" | "any") => Choice::Any,
        Some(_) => return Err(Refused::wrong(name, "must be none, auto, required or a tool")),
        None => match choice.get("type").and_then(Json::text).as_deref() {
            Some("allowed_tools") => among(name, choice.get("allowed_tools").unwrap_or(choice))?,
            Some("function") | None => {
                let tool = choice.get("function").unwrap_or(choice).get("name");
                let tool = tool.ok_or_else(|| Refused::wrong(name, "names no function"))?;
                Choice::Tool(fields::decoded(name, tool)?)
            }
            Some(_) => {
                request.lost(name.to_owned());
                return Ok(());
            }
        },
    });
    Ok(())
}

fn among<'a>(name: &'static str, allowed: Json<'a>) -> Result<Choice<'a>, Refused> {
    let mut names = Vec::new();
    for tool in allowed.get("tools").map(Json::each).into_iter().flatten() {
        let tool = tool.get("function").unwrap_or(tool).get("name");
        names.push(fields::decoded(name, tool.ok_or_else(|| Refused::wrong(name, "names no function"))?)?);
    }
    Ok(Choice::Among { names, must: allowed.get("mode").is_some_and(|mode| mode.is("required")) })
}

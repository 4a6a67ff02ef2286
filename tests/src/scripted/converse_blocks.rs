//! The messages of a request for `Converse`.

use super::{
    Asked,
    converse::{name, one_of},
    items, known, must, text,
};
use serde_json::Value;
use std::collections::HashSet;

const BLOCKS: [&str; 7] =
    ["text", "image", "document", "toolUse", "toolResult", "cachePoint", "reasoningContent"];

/// Reads a conversation. `tools`: there is a `toolConfig`. `by_budget`: the model thinks by a budget, and so demands its
/// thoughts back before calls.
pub(super) fn read_messages(
    messages: &Value,
    tools: bool,
    by_budget: bool,
    asked: &mut Asked,
) -> Result<(), String> {
    let mut open: Vec<String> = Vec::new();
    let mut names = HashSet::new();
    let mut before = "assistant";
    for message in items(messages) {
        known(message, &["role", "content"])?;
        let role = message["role"].as_str().unwrap_or_default();
        must(role != before, "roles must alternate between user and assistant")?;
        let blocks: Vec<&Value> = items(&message["content"]).collect();
        must(!blocks.is_empty(), "a content without blocks")?;
        match role {
            "user" => read_user(&blocks, &mut open, &mut names, asked)?,
            "assistant" => read_assistant(&blocks, by_budget, &mut open, asked)?,
            role => return Err(format!("there is no role {role}")),
        }
        must(
            tools || open.is_empty(),
            "the toolConfig field must be defined where there are toolUse blocks",
        )?;
        before = if role == "user" { "user" } else { "assistant" };
    }
    must(before == "user", "a conversation must end with a user message")?;
    must(open.is_empty(), "a toolUse is left without its toolResult")
}

fn read_user(
    blocks: &[&Value],
    open: &mut Vec<String>,
    names: &mut HashSet<String>,
    asked: &mut Asked,
) -> Result<(), String> {
    let (mut said, mut results, mut documents) = (String::new(), Vec::new(), 0);
    for block in blocks {
        match one_of(block, &BLOCKS)? {
            "text" => said += words(block)?,
            "image" => {
                read_image(&block["image"])?;
                asked.images += 1;
            }
            "document" => {
                read_document(&block["document"], names)?;
                documents += 1;
            }
            "toolResult" => {
                let result = &block["toolResult"];
                known(result, &["toolUseId", "content", "status"])?;
                let id = name(&result["toolUseId"])?;
                let at = open.iter().position(|open| *open == id).ok_or("a toolResult of no toolUse")?;
                open.remove(at);
                must(result["status"].is_null() || result["status"] == "error", "there is no such status")?;
                results.push(read_result(&result["content"], names)?);
            }
            "cachePoint" => must(block["cachePoint"]["type"] == "default", "there is no such cachePoint")?,
            kind => return Err(format!("a user has no {kind}")),
        }
    }
    must(open.is_empty(), "a toolUse is left without its toolResult")?;
    must(documents == 0 || !said.is_empty(), "a document must have text beside it")?;
    asked.files += documents;
    if results.is_empty() || !said.is_empty() {
        asked.turns += 1;
        asked.prompt = said;
        asked.results.clear();
    }
    asked.results.extend(results);
    Ok(())
}

fn read_assistant(
    blocks: &[&Value],
    by_budget: bool,
    open: &mut Vec<String>,
    asked: &mut Asked,
) -> Result<(), String> {
    asked.turns += 1;
    for (at, block) in blocks.iter().enumerate() {
        match one_of(block, &BLOCKS)? {
            "text" => {
                words(block)?;
            }
            "toolUse" => {
                let call = &block["toolUse"];
                known(call, &["toolUseId", "name", "input"])?;
                must(call["input"].is_object(), "input must be an object")?;
                let thought = blocks.first().is_some_and(|block| block["reasoningContent"].is_object());
                must(thought || !by_budget, "Expected `thinking`, but found `tool_use`")?;
                name(&call["name"])?;
                open.push(name(&call["toolUseId"])?);
            }
            "reasoningContent" => {
                let thought = &block["reasoningContent"]["reasoningText"];
                must(at == 0 && thought["signature"] == "signed", "Invalid `signature` in `thinking` block")?;
            }
            "cachePoint" => {}
            kind => return Err(format!("an assistant has no {kind}")),
        }
    }
    Ok(())
}

fn read_result(content: &Value, names: &mut HashSet<String>) -> Result<String, String> {
    must(items(content).next().is_some(), "a toolResult without a content")?;
    let mut said = String::new();
    for block in items(content) {
        match one_of(block, &["text", "json", "image", "document"])? {
            "text" => said += words(block)?,
            "json" => {
                must(block["json"].is_object(), "json must be an object")?;
                said += &block["json"].to_string();
            }
            "image" => read_image(&block["image"])?,
            _ => read_document(&block["document"], names)?,
        }
    }
    Ok(said)
}

fn words(block: &Value) -> Result<&str, String> {
    let text = block["text"].as_str().ok_or("text must be text")?;
    must(!text.trim().is_empty(), "the text field is blank")?;
    Ok(text)
}

fn read_image(image: &Value) -> Result<(), String> {
    known(image, &["format", "source"])?;
    let format = ["png", "jpeg", "gif", "webp"].iter().any(|format| image["format"] == *format);
    must(format, "there is no such format of images")?;
    read_source(&image["source"], &["bytes", "s3Location"])
}

fn read_document(document: &Value, names: &mut HashSet<String>) -> Result<(), String> {
    known(document, &["format", "name", "source"])?;
    let title = text(&document["name"]);
    let fits = |c: char| c.is_ascii_alphanumeric() || " -()[]".contains(c);
    must(
        (1..=200).contains(&title.len()) && title.chars().all(fits),
        "a document's name of other characters",
    )?;
    must(!title.contains("  "), "more than one blank in a row")?;
    must(names.insert(title), "two documents of one name")?;
    read_source(&document["source"], &["bytes", "s3Location", "text"])
}

fn read_source(source: &Value, kinds: &[&str]) -> Result<(), String> {
    match one_of(source, kinds)? {
        "s3Location" => must(source["s3Location"]["uri"].is_string(), "no uri"),
        kind => must(source[kind].as_str().is_some_and(|data| !data.is_empty()), "data without data"),
    }
}

//! Images, documents and videos in a request for `Converse`.

use crate::translate::{
    error::{Losses, Refused},
    form::{Media, MediaKind, Source},
    out::{Out, safe},
    parts::{FETCHES_NOTHING, FOREIGN},
};
use std::collections::HashSet;

/// Names of documents are at most so long.
const LONGEST_TITLE: usize = 200;

/// Whether it goes into a block for documents.
pub(super) fn is_document(media: &Media<'_>) -> bool {
    match &media.source {
        Source::Data { media: kind, .. } => media.kind == MediaKind::File && !kind.starts_with("image/"),
        _ => media.kind == MediaKind::File,
    }
}

/// A block for what is shown, unless it cannot be carried.
pub(super) fn write_media(
    media: &Media<'_>,
    titles: &mut Titles,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    let block = match media.kind {
        MediaKind::Image => "image",
        MediaKind::File if !is_document(media) => "image",
        MediaKind::File => "document",
        MediaKind::Video => "video",
        MediaKind::Audio => return losses.lose(&*media.param),
    };
    let kind = match &media.source {
        Source::Data { media, .. } => Some(&**media),
        Source::Text(_) => Some("text/plain"),
        Source::Url { url, .. } if !url.starts_with("s3://") => {
            return losses.because(&*media.param, FETCHES_NOTHING);
        }
        Source::Url { url, media: known } => known.as_deref().or_else(|| by_ending(url)),
        Source::Foreign => return losses.because(&*media.param, FOREIGN),
    };
    let Some(format) = kind.and_then(|kind| format(block, kind)) else {
        return losses.because(&*media.param, "it has no format of that media type");
    };
    out.open('{').key(block).open('{').field_str("format", format);
    if block == "document" {
        out.field_str("name", &titles.name(media));
    }
    out.key("source").open('{');
    match &media.source {
        Source::Data { data, .. } => {
            out.key("bytes").pieces([&*safe(data)]);
        }
        Source::Url { url, .. } => {
            out.key("s3Location").open('{').field_str("uri", url).close('}');
        }
        Source::Text(text) => {
            out.field_lit("text", *text);
        }
        Source::Foreign => {}
    }
    out.close('}').close('}').close('}');
    Ok(())
}

/// The word that stands for a media type.
fn format(block: &str, kind: &str) -> Option<&'static str> {
    Some(match (block, kind.split(';').next().unwrap_or_default().trim()) {
        ("image", "image/png") => "png",
        ("image", "image/jpeg" | "image/jpg") => "jpeg",
        ("image", "image/gif") => "gif",
        ("image", "image/webp") => "webp",
        ("document", "application/pdf") => "pdf",
        ("document", "text/csv") => "csv",
        ("document", "text/html") => "html",
        ("document", "text/plain") => "txt",
        ("document", "text/markdown") => "md",
        ("document", "application/msword") => "doc",
        ("document", "application/vnd.openxmlformats-officedocument.wordprocessingml.document") => "docx",
        ("document", "application/vnd.ms-excel") => "xls",
        ("document", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet") => "xlsx",
        ("video", "video/mp4") => "mp4",
        ("video", "video/quicktime") => "mov",
        ("video", "video/x-matroska") => "mkv",
        ("video", "video/webm") => "webm",
        ("video", "video/x-flv") => "flv",
        ("video", "video/mpeg") => "mpeg",
        ("video", "video/x-ms-wmv") => "wmv",
        ("video", "video/3gpp") => "three_gp",
        _ => return None,
    })
}

/// The media type that the ending of an address stands for, where nothing else tells.
fn by_ending(url: &str) -> Option<&'static str> {
    Some(match url.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        "txt" => "text/plain",
        "mp4" => "video/mp4",
        _ => return None,
    })
}

/// The names of a request's documents, of which no two are the same, in capitals or small letters.
#[derive(Debug, Default)]
pub(super) struct Titles {
    /// In small letters.
    taken: HashSet<String>,
    documents: u32,
    /// The last number that told one from others of its name.
    number: u32,
}

impl Titles {
    /// A document's name: letters, digits, single blanks, hyphens, brackets, and no other document's. The file's own as
    /// far as it is that.
    fn name(&mut self, media: &Media<'_>) -> String {
        self.documents = self.documents.saturating_add(1);
        let stem = stem(media).unwrap_or_else(|| format!("document-{}", self.documents));
        let mut name = stem.clone();
        self.number = self.number.max(1);
        // Numbers only rise, so that it takes no more tries than there are documents.
        while !self.taken.insert(name.to_ascii_lowercase()) {
            self.number = self.number.saturating_add(1);
            name = format!("{stem} ({})", self.number);
        }
        name
    }
}

/// What is left of a file's name; `None` where that is nothing.
fn stem(media: &Media<'_>) -> Option<String> {
    let theirs = media.name.and_then(|name| name.decode()).unwrap_or_default();
    // The format is told beside it.
    let stem = theirs.rsplit_once('.').map_or(&*theirs, |(stem, _)| stem);
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '(' | ')' | '[' | ']');
    let spaced: String =
        stem.chars().take(4 * LONGEST_TITLE).map(|c| if allowed(c) { c } else { ' ' }).collect();
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let name: String = words.join(" ").chars().take(LONGEST_TITLE - 16).collect();
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translate::json::Json;

    #[test]
    fn no_two_documents_have_one_name() {
        let names = [
            r#""x.pdf""#,
            r#""x (2).pdf""#,
            r#""x.txt""#,
            r#""x?.pdf""#,
            r#""?""#,
            r#""document-6""#,
            r#""""#,
            r#""x (2)""#,
            r#""X.pdf""#,
        ];
        let mut titles = Titles::default();
        let given: Vec<String> = names
            .iter()
            .map(|name| {
                titles.name(&Media {
                    kind: MediaKind::File,
                    source: Source::Foreign,
                    name: Json::trusted(name).lit(),
                    param: String::new(),
                })
            })
            .collect();
        let unique: HashSet<String> = given.iter().map(|name| name.to_lowercase()).collect();
        assert_eq!(unique.len(), names.len(), "{given:?}");
        assert_eq!(given[..3], ["x", "x (2)", "x (3)"]);
    }
}

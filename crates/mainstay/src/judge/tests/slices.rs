//! Cut anywhere, a stream is the same stream; cut off anywhere, it is never a whole one.

use super::*;
use proptest::prelude::*;

const CHAT: &str = concat!(
    ": hello\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hé\"}}]}\r\n\r\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"llo\"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\n",
    "data: [DONE]\n\n",
);

const MESSAGES: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n",
    "event: ping\ndata: {\"type\":\"ping\"}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

const RESPONSES: &str = concat!(
    "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"status\":\"in_progress\"}}\n\n",
    "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"Hi\"}\n\n",
    "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[{\"type\":\"message\"}],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n",
);

const GEMINI: &str = concat!(
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hi\"}],\"role\":\"model\"},\"index\":0}]}\n\n",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\" you\"}],\"role\":\"model\"},\"index\":0}]}\n\n",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"}]},\"finishReason\":\"STOP\",\"index\":0}],\"usageMetadata\":{\"candidatesTokenCount\":2}}\n\n",
);

fn samples() -> Vec<(Play, &'static str, &'static str)> {
    let at = |path, kind| Play { path, kind, ..Play::default() };
    vec![
        // The third is what makes the answer whole.
        (at("/v1/chat/completions", Kind::OpenAi), CHAT, "\"finish_reason\":\"stop\"}]}"),
        (at("/v1/messages", Kind::Anthropic), MESSAGES, "{\"type\":\"message_stop\"}"),
        (at("/v1/responses", Kind::OpenAi), RESPONSES, "\"output_tokens\":1}}}"),
        (at("/v1beta/models/g:streamGenerateContent", Kind::Gemini), GEMINI, "\"candidatesTokenCount\":2}}"),
    ]
}

fn bytes(text: &'static str, at: std::ops::Range<usize>) -> Act {
    Act::Data(Bytes::from_static(&text.as_bytes()[at]))
}

/// The ends of all events of a sample.
fn boundaries(sample: &str) -> Vec<usize> {
    let ends = |mark: &'static str| sample.match_indices(mark).map(move |(at, _)| at + mark.len());
    [0].into_iter().chain(ends("\n\n")).chain(ends("\r\n\r\n")).collect()
}

/// Cuts a sample in three in every way, and looks that its bytes are the same. Of the second cut only each `step`th place is
/// tried, another one for each first cut.
async fn cut_in_three(sample: usize, step: usize) {
    let step = if cfg!(miri) { 97 } else { step };
    let (play, sample, _) = samples().swap_remove(sample);
    let whole = drain(play.texts(&[sample]).await.unwrap().into_body()).await;
    assert_eq!((text(&whole.0).as_str(), whole.1.is_none()), (sample, true));
    for first in 0..sample.len() {
        for second in (first + first % step..sample.len()).step_by(step) {
            let acts =
                [bytes(sample, 0..first), bytes(sample, first..second), bytes(sample, second..sample.len())];
            let (frames, error) = drain(play.acts(acts).await.unwrap().into_body()).await;
            assert!(error.is_none(), "{first} {second}");
            assert_eq!(text(&frames), sample, "{first} {second}");
        }
    }
}

// A test for each: they run side by side.

#[tokio::test(start_paused = true)]
async fn every_way_to_cut_a_chat_completion_in_three_gives_the_same_bytes() {
    cut_in_three(0, 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_fifth_of_the_ways_to_cut_a_message_in_three_gives_the_same_bytes() {
    // All would take a quarter of a minute.
    cut_in_three(1, 5).await;
}

#[tokio::test(start_paused = true)]
async fn every_way_to_cut_a_response_in_three_gives_the_same_bytes() {
    cut_in_three(2, 1).await;
}

#[tokio::test(start_paused = true)]
async fn every_way_to_cut_a_stream_of_gemini_in_three_gives_the_same_bytes() {
    cut_in_three(3, 1).await;
}

#[tokio::test(start_paused = true)]
async fn byte_by_byte_a_stream_is_the_same_and_goes_on_event_by_event() {
    for (play, sample, _) in samples() {
        let acts = (0..sample.len()).map(|at| bytes(sample, at..at + 1));
        let (frames, error) = drain(play.acts(acts).await.unwrap().into_body()).await;
        assert!(error.is_none());
        assert_eq!(frames.concat(), sample.as_bytes());
        let boundaries = boundaries(sample);
        let mut at = 0;
        for frame in &frames {
            at += frame.len();
            // Of a CRLF that two frames share, the LF comes by itself.
            assert!(boundaries.contains(&at) || boundaries.contains(&(at + 1)), "{at}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn pitfall_38_cut_off_at_any_byte_a_stream_is_never_presented_as_whole_nor_half_an_event_handed_on() {
    for (play, sample, end) in samples() {
        let whole_at = sample.rfind(end).unwrap() + end.len();
        let boundaries = boundaries(sample);
        for cut in 0..sample.len() {
            for broken in [false, true] {
                let acts = [bytes(sample, 0..cut)].into_iter().chain(broken.then(reset));
                let outcome = play.acts(acts).await;
                // A connection that broke may have lost the line ends: only what is closed off counts then.
                let whole = cut >= if broken { whole_at + 2 } else { whole_at };
                let response = match outcome {
                    Ok(response) if response.status() == 200 => response,
                    other => {
                        let verdict = verdict(&other);
                        assert!(!whole, "{cut}: {verdict:?}");
                        assert!(
                            !verdict.is_success() && !verdict.committed && verdict.is_retryable(),
                            "{cut}"
                        );
                        continue;
                    }
                };
                let (frames, error) = drain(response.into_body()).await;
                let got = text(&frames);
                assert_eq!(error.is_none(), whole, "{cut} of {sample}");
                if let Some(error) = error {
                    assert!(failed(error).verdict().committed);
                    // A blank line of CRLF that was cut before its LF is one all the same.
                    let ends = [got.len(), got.len() + 1];
                    assert!(ends.iter().any(|end| boundaries.contains(end)), "{cut}: {got}");
                    assert!(sample.starts_with(&got), "{cut}: {got}");
                } else {
                    assert!(got.ends_with("\n\n"), "{cut}: {got}");
                    assert!(got.matches("[DONE]").count() == usize::from(sample == CHAT), "{cut}: {got}");
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_last_line_end_that_comes_in_two_pieces_is_whole() {
    for (play, sample, _) in samples() {
        let sample: &'static str = sample.replace("\r\n", "\n").replace('\n', "\r\n").leak();
        let cut = sample.len() - 1;
        let response = play.acts([bytes(sample, 0..cut), bytes(sample, cut..sample.len())]).await.unwrap();
        let (frames, error) = drain(response.into_body()).await;
        assert!(error.is_none());
        assert_eq!(text(&frames), sample);
    }
}

#[tokio::test(start_paused = true)]
async fn events_of_messages_without_names_get_them_however_the_stream_is_cut() {
    let (play, named, _) = samples().swap_remove(1);
    let bare: String = named.split_inclusive('\n').filter(|line| !line.starts_with("event:")).collect();
    for cut in 0..bare.len() {
        let (frames, error) =
            drain(play.acts([data(&bare[..cut]), data(&bare[cut..])]).await.unwrap().into_body()).await;
        assert!(error.is_none(), "{cut}");
        assert_eq!(text(&frames), named, "{cut}");
    }
}

/// What streams are made of, well and ill.
const PIECES: [&str; 12] = [
    PING,
    ROLE,
    HI,
    HI,
    STOP,
    DONE,
    ERROR,
    "data: {oops\n\n",
    "event: x\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ho\"}}]}\r\n\r\n",
    "\r\n\r\n",
    "data: {\"choi",
    "\u{feff}",
];

/// All that a caller, and the layers on the way to it, get of a stream: its bytes, and how it ended.
fn outcome(stream: &str, cuts: &[usize], broken: bool) -> (String, String) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let mut at: Vec<usize> =
            cuts.iter().map(|cut| cut % (stream.len() + 1)).chain([0, stream.len()]).collect();
        at.sort_unstable();
        let piece = |pair: &[usize]| Act::Data(Bytes::copy_from_slice(&stream.as_bytes()[pair[0]..pair[1]]));
        let acts: Vec<Act> = at.windows(2).map(piece).chain(broken.then(reset)).collect();
        match Play::default().acts(acts).await {
            Ok(response) => {
                let status = response.status();
                let (frames, error) = drain(response.into_body()).await;
                let end = error.map(|error| format!("{:?}", failed(error).verdict()));
                (text(&frames), format!("{status} {end:?}"))
            }
            Err(error) => (String::new(), format!("{:?}", failed(error).verdict())),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn however_a_stream_is_cut_its_caller_gets_the_same(
        pieces in proptest::collection::vec(0..PIECES.len(), 0..12),
        cuts in proptest::collection::vec(any::<usize>(), 0..12),
        broken in any::<bool>(),
    ) {
        let stream: String = pieces.into_iter().map(|piece| PIECES[piece]).collect();
        let whole = outcome(&stream, &[], broken);
        let cut = outcome(&stream, &cuts, broken);
        prop_assert_eq!(&whole, &cut);
        // What is handed on is what came, and a [DONE] of ours at most.
        if whole.1.starts_with("200") {
            let got = whole.0.strip_suffix(DONE).unwrap_or(&whole.0).trim_end();
            prop_assert!(stream.starts_with(got), "{:?} of {:?}", whole.0, stream);
        }
    }
}

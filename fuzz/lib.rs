//! What every wire format promises about any bytes: no panic; a reply that is read can be replayed; a stream says the
//! same however it was cut.

use agcore::{
    llm::{
        Conversation, ModelRequest, Profile, Reading, SseParser, Target, provider,
        wire::{self, Answer},
    },
    types::{Api, Entry, Reply},
};

fn fold(api: Api, bytes: &[u8], size: usize) -> Option<String> {
    let dialect = provider::dialect(api)?;
    let reading = Reading::of(wire::origin("fuzzed", api, "m").ok()?);
    let (mut parser, mut fold) = (SseParser::new(), dialect.fold(reading));
    for piece in bytes.chunks(size.max(1)) {
        parser.push(piece, |event| fold.push(event, &())).ok()?;
    }
    parser.end(|event| fold.push(event, &()));
    let reply = fold.finish().ok()?;
    replay(&reply);
    serde_json::to_string(&reply).ok()
}

/// The reply goes back to everybody: to whom it came from and to all others.
fn replay(reply: &Reply) {
    for profile in Profile::shipped() {
        for api in profile.apis.keys() {
            let Some(model) = "m".parse().ok() else { continue };
            let (Some(target), Some(dialect)) = (Target::new(profile, *api, model), provider::dialect(*api)) else { continue };
            let mut conversation = Conversation::from(vec![Entry::Reply(std::sync::Arc::new(reply.clone()))]);
            if let Ok(wire) = dialect.build(&ModelRequest::default(), &target, &mut conversation) {
                let body: Result<serde_json::Value, _> = serde_json::from_slice(&wire.body);
                assert!(body.is_ok(), "what was built is no JSON: {}", String::from_utf8_lossy(&wire.body));
            }
        }
    }
}

/// The first byte says how the rest is read.
pub fn any_bytes(api: Api, data: &[u8]) {
    let Some((how, body)) = data.split_first() else { return };
    if how % 2 == 0 {
        let Ok(origin) = wire::origin("fuzzed", api, "m") else { return };
        let status = if *how == 4 { Some(429) } else { None };
        let answer = Answer { body, stream: Some(false), status, headers: None };
        if let Ok(parsed) = wire::parse(origin, &answer)
            && let Some(reply) = parsed.reply
        {
            replay(&reply);
        }
    } else {
        let whole = fold(api, body, usize::MAX);
        assert_eq!(whole, fold(api, body, usize::from(*how % 7) + 1), "the cut changes what is read");
    }
}

//! A turn whose process was killed is taken up by two processes at once.

use pretty_assertions::assert_eq;

use super::crash::{Kill, Shape, World, in_flight, read};

/// The exit code when something is wrong: here, that somebody else drives the turn.
const REFUSED: i32 = 1;

async fn taken_up_twice(shape: Shape, kill: Kill) {
    let world = World::new(shape, "chat", Some(kill)).await;
    world.crash().await;
    let turn = world.turn().await;
    let unknown = in_flight(&world.journal(&turn).await).contains("call_3");
    let resume = || world.command(&["turns", "resume", "--yes", &turn], true).output();
    let (one, two) = tokio::join!(resume(), resume());
    let context = format!("{shape:?} {kill:?}");
    let mut ended = None;
    for output in [one.unwrap(), two.unwrap()] {
        if output.status.code() == Some(REFUSED) {
            let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
            assert!(said.contains("driven by process") || said.contains("taken over"), "{context}: {said}");
        } else {
            ended = Some(read(&output));
        }
    }
    let (_, document) = ended.unwrap_or_else(|| panic!("nobody took it up: {context}"));
    let expected = if unknown { "outcome_unknown" } else { "answered" };
    assert_eq!(document["state"].as_str(), Some(expected), "{context}");
    let services = world.services();
    let [_, (_, keyed), (plain_requests, plain)] = services.as_slice() else { panic!("{services:?}") };
    assert_eq!((*keyed, *plain_requests <= 1, *plain), (1, true, usize::from(*plain_requests == 1)), "{context}");
    assert!(unknown || *plain == 1, "{context}");
    // One process asked the model: at most the request that was cut off is made again.
    let most = shape.replies() + 1;
    assert!(world.provider.requests().len() <= most, "{context}: {} requests", world.provider.requests().len());
    assert_eq!(world.provider.violations(), Vec::<String>::new(), "{context}");
}

/// DEV-I01
#[tokio::test]
async fn of_two_processes_that_take_up_a_killed_turn_one_runs_it() {
    for shape in [Shape::Rounds, Shape::Batch] {
        for kill in [
            Kill::Reply(0, 0),
            Kill::Reply(1, 60),
            Kill::Service("read"),
            Kill::Service("keyed"),
            Kill::Service("plain"),
        ] {
            taken_up_twice(shape, kill).await;
        }
    }
}

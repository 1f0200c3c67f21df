//! The examples do what their first line says.

#[path = "../../examples/approve_and_resume.rs"]
mod approve_and_resume;
#[path = "../../examples/declared_capability.rs"]
mod declared_capability;
#[path = "../../examples/function_tool.rs"]
mod function_tool;

#[tokio::test]
async fn a_typed_function_answers_as_a_tool() {
    let answer = function_tool::answer().await.unwrap();
    assert!(answer.contains("on Sundays it is closed"), "{answer}");
}

#[tokio::test]
async fn a_declared_capability_needs_its_scope_and_hides_what_its_contract_hides() {
    let (with, without) = declared_capability::answers().await.unwrap();
    assert!(with.contains("Chengdu") && !with.contains("139 0000"), "{with}");
    assert!(!without.contains("Chengdu"), "{without}");
}

#[tokio::test]
async fn a_write_waits_for_a_person_and_runs_once_afterwards() {
    let story = approve_and_resume::story().await.unwrap();
    assert_eq!((story.before, story.after), (0, 1), "{}", story.answer);
}

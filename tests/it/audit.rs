//! The audit log: what it says, and that nobody changes the record unseen.

use std::{path::Path, sync::Arc};

use agcore::{
    audit::{Mark, Report, entries},
    capability::Capability,
    llm::ToolChoice,
    runtime::Runtime,
    store::{
        SqliteJournal,
        audit::{Line, Record, link},
    },
    turn::{ApprovalAnswer, Company, Operator, TurnEnd},
    types::{RiskClass, TurnId},
};
use agcore_testkit::{ScriptedModel, ScriptedTool, reply};
use pretty_assertions::assert_eq;
use serde_json::json;
use sqlx::{Connection, SqliteConnection};
use tempfile::TempDir;

const ANN: Operator<'_> = Operator { by: "ann", why: "a drill" };

async fn runtime(db: &Path) -> Runtime {
    let asks =
        reply().call("orders.get_by_id", json!({"order": "A-17"})).call("orders.refund", json!({"amount": 4177}));
    let model = ScriptedModel::new((0..50).flat_map(|_| [asks.clone(), reply().text("done")]));
    let tool = |name: &str, risk| Capability::function(name).description("Does it").risk(risk).build().unwrap();
    Runtime::builder()
        .capability(tool("orders.get_by_id", RiskClass::InternalRead))
        .capability(tool("orders.refund", RiskClass::BusinessWrite))
        .executor("orders.get_by_id", Arc::new(ScriptedTool::new().text("late")))
        .executor("orders.refund", Arc::new(ScriptedTool::new().text("refunded")))
        .journal(Arc::new(SqliteJournal::open(db).await.unwrap()))
        .model(Arc::new(model))
        .build()
        .unwrap()
}

/// A turn that reads, asks a person, and refunds.
async fn refund(runtime: &Runtime) -> TurnId {
    let waiting = runtime.turn("refund it").tool_choice(ToolChoice::Auto).run().await.unwrap();
    let TurnEnd::Waiting(requests) = &waiting.end else { panic!("{:?}", waiting.end) };
    let request = requests.first().unwrap();
    let turn = request.turn.clone();
    runtime.approve(&turn, request.call.as_str(), None, &ApprovalAnswer::yes("bob")).await.unwrap();
    let outcome = runtime.resume(&turn, Company::default()).await.unwrap();
    assert!(matches!(outcome.end, TurnEnd::Ended(_)));
    turn
}

/// A database with two turns and a halt, and its check before anybody touched it.
struct Kept {
    folder: TempDir,
    turns: [TurnId; 2],
    report: Report,
}

impl Kept {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let runtime = runtime(&folder.path().join("a.db")).await;
        let first = refund(&runtime).await;
        runtime.halt(ANN).await.unwrap();
        runtime.lift_halt(ANN).await.unwrap();
        let turns = [first, refund(&runtime).await];
        let report = runtime.verify_audit(None).await.unwrap();
        assert_eq!((report.lines, report.turns, &report.problems, &report.open), (8, 2, &vec![], &vec![]));
        Self { folder, turns, report }
    }

    fn mark(&self) -> &Mark {
        self.report.head.as_ref().unwrap()
    }

    /// What a check says of a copy after somebody worked on it.
    async fn after(
        &self,
        name: &str,
        work: impl AsyncFnOnce(&mut SqliteConnection),
        kept: Option<&Mark>,
    ) -> Vec<String> {
        let copy = self.folder.path().join(format!("{name}.db"));
        let mut original = connect(&self.folder.path().join("a.db")).await;
        sqlx::query("VACUUM INTO $1").bind(copy.display().to_string()).execute(&mut original).await.unwrap();
        let mut connection = connect(&copy).await;
        work(&mut connection).await;
        drop(connection);
        let report = runtime(&copy).await.verify_audit(kept).await.unwrap();
        report.problems.iter().map(ToString::to_string).collect()
    }

    async fn after_sql(&self, name: &str, sql: &'static str) -> Vec<String> {
        self.after(name, async |db| run(db, sql).await, None).await
    }
}

async fn connect(db: &Path) -> SqliteConnection {
    SqliteConnection::connect(&format!("sqlite://{}", db.display())).await.unwrap()
}

async fn run(db: &mut SqliteConnection, sql: &'static str) {
    let done = sqlx::raw_sql(sql).execute(db).await.unwrap();
    assert!(done.rows_affected() > 0, "{sql}");
}

/// The lines are: turn 1 waits, is approved, is over; halt, lift; turn 2 waits, is approved, is over.
#[tokio::test]
async fn a_line_that_was_changed_moved_or_removed_is_found_at_its_place() {
    let kept = Kept::new().await;
    let changed =
        kept.after_sql("changed", "UPDATE audit SET body = replace(body, 'ann', 'eve') WHERE place = 4").await;
    assert_eq!(changed, ["line 4: it does not follow from line 3: one of the two was changed"]);
    let first = kept.after_sql("first", "UPDATE audit SET hash = upper(hash) WHERE place = 1").await;
    assert_eq!(first[0], "line 1: it was changed");
    let removed = kept.after_sql("removed", "DELETE FROM audit WHERE place IN (4, 5)").await;
    assert_eq!(removed, ["line 4: the lines up to 5 were removed"]);
    let moved = "CREATE TEMP TABLE t AS SELECT * FROM audit WHERE place IN (4, 5);
        UPDATE audit SET body = (SELECT body FROM t WHERE t.place = 9 - audit.place) WHERE place IN (4, 5)";
    let moved = kept.after_sql("moved", moved).await;
    assert_eq!(moved[0], "line 4: it does not follow from line 3: one of the two was changed");
    let cut = kept.after_sql("cut", "DELETE FROM audit WHERE place > 6").await;
    assert_eq!(
        cut,
        [format!("turn {}: it is over, and the chain does not know it: lines were removed", kept.turns[1])]
    );
}

#[tokio::test]
async fn a_journal_that_was_changed_is_found_with_its_turn_and_events() {
    let kept = Kept::new().await;
    let changed = kept.after_sql("changed", "UPDATE journal SET body = replace(body, '4177', '9177')").await;
    assert_eq!(changed.len(), 2, "{changed:?}");
    assert!(changed[0].contains(&format!("turn {}: events 0 to", kept.turns[0])), "{changed:?}");
    assert!(changed[0].ends_with("the journal was changed"), "{changed:?}");
    let removed = kept.after_sql("removed", "DELETE FROM journal WHERE seq > 0").await;
    assert!(removed[0].ends_with("events were removed from the journal"), "{removed:?}");
    let gone = kept.after_sql("gone", "DELETE FROM journal; DELETE FROM turn").await;
    assert_eq!(gone.len(), 2, "{gone:?}");
    let added =
        "INSERT INTO journal SELECT turn, seq + 1000, last_seq + 1000, at, version, body FROM journal WHERE seq = 0";
    let added = kept.after_sql("added", added).await;
    assert!(added[0].contains("does not hold together at event 1000"), "{added:?}");
    let added = "INSERT INTO journal SELECT j.turn, (SELECT max(last_seq) + 1 FROM journal k WHERE k.turn = j.turn),
        (SELECT max(last_seq) + 1 FROM journal k WHERE k.turn = j.turn), at, version, body FROM journal j WHERE seq = 0";
    let added = kept.after_sql("added-2", added).await;
    assert!(added[0].ends_with("were added to a turn that is over"), "{added:?}");
}

/// Who may write the whole database can write the whole chain anew. A mark that was kept elsewhere finds that out.
#[tokio::test]
async fn a_chain_that_was_written_anew_or_cut_off_is_found_by_a_mark_that_was_kept() {
    let kept = Kept::new().await;
    let rewrite = async |db: &mut SqliteConnection| {
        let bodies: Vec<(i64, String)> =
            sqlx::query_as("SELECT place, body FROM audit ORDER BY place").fetch_all(&mut *db).await.unwrap();
        let mut hash = String::new();
        for (place, body) in bodies {
            let body = body.replace("ann", "eve");
            hash = link(&hash, &body);
            let set = sqlx::query("UPDATE audit SET body = $1, hash = $2 WHERE place = $3");
            set.bind(body).bind(&hash).bind(place).execute(&mut *db).await.unwrap();
        }
    };
    assert_eq!(kept.after("rewritten", rewrite, None).await, Vec::<String>::new());
    let found = kept.after("rewritten-2", rewrite, Some(kept.mark())).await;
    assert_eq!(found, ["line 8: the chain was written anew: its hash is not the one that was kept"]);
    let cut = async |db: &mut SqliteConnection| {
        run(db, "DELETE FROM audit WHERE place > 5; DELETE FROM journal; DELETE FROM turn").await;
    };
    let found = kept.after("cut", cut, Some(kept.mark())).await;
    assert!(found.contains(&"line 8: the chain was cut off: it ends before this line".to_owned()), "{found:?}");
}

/// Two processes write at once; each remembers the end of the chain, and neither forks it.
#[tokio::test]
async fn two_processes_on_one_database_do_not_fork_the_chain() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("a.db");
    let (one, two) = (runtime(&db).await, runtime(&db).await);
    let many = |runtime: Runtime| async move {
        for _ in 0..5 {
            refund(&runtime).await;
            runtime.halt(ANN).await.unwrap();
            runtime.lift_halt(ANN).await.unwrap();
        }
    };
    // A turn that a halt of the other process puts down would not wait: the two take turns with halts of their own only.
    let alone = runtime(&folder.path().join("b.db")).await;
    many(alone.clone()).await;
    assert_eq!(alone.verify_audit(None).await.unwrap().lines, 25);
    let turns = |runtime: Runtime| async move {
        for _ in 0..10 {
            refund(&runtime).await;
        }
    };
    tokio::join!(turns(one.clone()), turns(two.clone()));
    let report = one.verify_audit(None).await.unwrap();
    assert_eq!((report.lines, report.turns, report.problems), (60, 20, vec![]));
}

#[tokio::test]
async fn the_log_says_who_let_what_run_by_which_rule_and_no_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = runtime(&folder.path().join("a.db")).await;
    let turn = refund(&runtime).await;
    let entries = entries(&runtime.journal(&turn).await.unwrap());
    let said: Vec<(&str, &str, &str, &str)> = entries
        .iter()
        .map(|entry| {
            let capability = entry.call.as_ref().and_then(|call| call.capability.as_ref());
            let rule = entry.rule.as_ref().map_or("", |rule| rule.as_str());
            let capability = capability.map_or("", |capability| capability.as_str());
            (entry.what.as_str(), capability, entry.by.as_deref().unwrap_or(""), rule)
        })
        .collect();
    assert_eq!(
        said,
        [
            ("started", "", "", ""),
            ("allowed", "orders.get_by_id", "", "risk.read"),
            ("asked", "orders.refund", "", "risk.business_write"),
            ("running", "orders.get_by_id", "", ""),
            ("ok", "orders.get_by_id", "", ""),
            ("approved", "orders.refund", "bob", ""),
            ("resumed", "", "", ""),
            ("running", "orders.refund", "", ""),
            ("ok", "orders.refund", "", ""),
            ("ended", "", "", ""),
        ]
    );
    let asked = &entries[2];
    let call = asked.call.as_ref().unwrap();
    assert!(call.contract.starts_with("sha256:") && call.digest.starts_with("sha256:"));
    assert!(asked.policy.starts_with("sha256:") && asked.rules.contains(asked.rule.as_ref().unwrap()));
    let text = serde_json::to_string(&entries).unwrap();
    assert!(!text.contains("A-17") && !text.contains("4177"), "{text}");
}

#[tokio::test]
async fn what_an_operator_did_beside_turns_is_on_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = runtime(&folder.path().join("a.db")).await;
    runtime.halt(ANN).await.unwrap();
    runtime.lift_halt(Operator { by: "bob", why: "" }).await.unwrap();
    let lines: Vec<Line> = runtime.parts().journal.audit().unwrap().lines(0, 10).await.unwrap();
    let acted = lines.iter().map(|line| match serde_json::from_str(&line.body).unwrap() {
        Record::Acted(acted) => (acted.act, acted.by, acted.why),
        Record::Turn(anchor) => panic!("{anchor:?}"),
    });
    let expected = [("halt", "ann", "a drill"), ("lift_halt", "bob", "")];
    let expected = expected.map(|(act, by, why)| (act.to_owned(), by.to_owned(), why.to_owned()));
    assert_eq!(acted.collect::<Vec<_>>(), expected);
}

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

/// A call as the tests write it; strings are leaked into ids by [`with`].
#[derive(Debug, Clone, PartialEq)]
struct Spec {
    tool: String,
    writes: bool,
    group: Option<String>,
    depends_on: Vec<String>,
    cap: Option<u32>,
}

fn read(tool: &str) -> Spec {
    Spec { tool: tool.into(), writes: false, group: None, depends_on: vec![], cap: None }
}

fn write(tool: &str) -> Spec {
    Spec { writes: true, ..read(tool) }
}

/// Makes a schedule of the calls; the intent of tool `a` is `do.a`.
fn schedule(specs: &[Spec], at_once: usize) -> Schedule {
    let intent = |name: &String| Intent::new(format!("do.{name}")).unwrap();
    let owned: Vec<(CapabilityId, Intent, Vec<Intent>)> = specs
        .iter()
        .map(|spec| {
            (CapabilityId::new(&spec.tool).unwrap(), intent(&spec.tool), spec.depends_on.iter().map(intent).collect())
        })
        .collect();
    let planned: Vec<Planned<'_>> = specs
        .iter()
        .zip(&owned)
        .map(|(spec, (capability, intent, depends_on))| Planned {
            capability,
            intent,
            side_effect: if spec.writes { SideEffect::NonIdempotentWrite } else { SideEffect::ReadOnly },
            group: spec.group.as_deref(),
            depends_on,
            concurrency: spec.cap,
        })
        .collect();
    Schedule::new(&planned, at_once)
}

/// Runs waves: everything that is ready, then all of it finishes.
fn waves(specs: &[Spec]) -> Vec<Vec<usize>> {
    let mut schedule = schedule(specs, BATCH_CAP);
    let mut waves = Vec::new();
    loop {
        let wave = schedule.ready();
        if wave.is_empty() {
            assert!(schedule.is_done(), "stuck after {waves:?}");
            return waves;
        }
        wave.iter().for_each(|index| schedule.finished(*index));
        waves.push(wave);
    }
}

#[test]
fn reads_start_together() {
    assert_eq!(waves(&[read("a"), read("b"), read("a"), read("c")]), [[0, 1, 2, 3]]);
}

/// DEV-J04: writes are serial and in call order.
#[test]
fn writes_run_one_at_a_time_in_call_order_beside_the_reads() {
    let specs = [write("a"), read("r"), write("b"), write("a"), read("r")];
    assert_eq!(waves(&specs), [vec![0, 1, 4], vec![2], vec![3]]);
}

#[test]
fn calls_of_one_group_never_overlap() {
    let of_group = |tool: &str| Spec { group: Some("browser".into()), ..read(tool) };
    assert_eq!(waves(&[of_group("a"), of_group("b"), read("c"), of_group("a")]), [vec![0, 2], vec![1], vec![3]]);
}

#[test]
fn a_call_waits_for_all_calls_of_the_intents_it_depends_on() {
    let fetch = Spec { depends_on: vec!["search".into(), "absent".into()], ..read("fetch") };
    assert_eq!(waves(&[fetch, read("search"), read("other"), read("search")]), [vec![1, 2, 3], vec![0]]);
}

#[test]
fn dependencies_in_a_circle_run_in_call_order() {
    let needs = |tool: &str, on: &str| Spec { depends_on: vec![on.into()], ..read(tool) };
    assert_eq!(waves(&[needs("a", "b"), needs("b", "a")]), [[0], [1]]);
    assert_eq!(waves(&[needs("a", "a"), needs("a", "a")]), [[0], [1]], "on itself");
    // The order of writes says a before b, the dependency b before a.
    let a = Spec { depends_on: vec!["b".into()], ..write("a") };
    assert_eq!(waves(&[a, write("b")]), [[0], [1]]);
}

/// DEV-J04
#[test]
fn eight_hundred_reads_keep_to_both_caps_and_do_not_starve_other_tools() {
    let mut specs = vec![Spec { cap: Some(4), ..read("wide") }; 800];
    specs.extend(vec![read("other"); 20]);
    let mut schedule = schedule(&specs, 16);
    let mut running: VecDeque<usize> = schedule.ready().into();
    assert_eq!(Vec::from(running.clone()), [0, 1, 2, 3, 800, 801, 802, 803, 804, 805, 806, 807, 808, 809, 810, 811]);
    let mut finished = Vec::new();
    while let Some(index) = running.pop_front() {
        schedule.finished(index);
        finished.push(index);
        running.extend(schedule.ready());
        assert!(running.len() <= 16 && running.iter().filter(|index| **index < 800).count() <= 4);
    }
    finished.sort_unstable();
    assert_eq!(finished, (0..820).collect::<Vec<_>>());
    assert!(schedule.is_done());
}

/// DEV-J03: stopping takes only what has not started.
#[test]
fn a_drained_schedule_gives_back_what_never_started_and_keeps_what_runs() {
    let mut schedule = schedule(&[write("a"), write("b"), read("c"), write("a")], 16);
    assert_eq!(schedule.ready(), [0, 2]);
    schedule.finished(2);
    assert_eq!(schedule.drain(), [1, 3]);
    assert!(!schedule.is_done(), "call 0 still runs");
    schedule.finished(0);
    schedule.finished(0);
    assert_eq!((schedule.ready(), schedule.drain(), schedule.is_done()), (vec![], vec![], true));
}

#[test]
fn an_empty_batch_is_done_at_once() {
    assert!(schedule(&[], 16).is_done());
}

fn specs() -> impl Strategy<Value = Vec<Spec>> {
    let names = || prop::sample::select(vec!["a", "b", "c", "d", "e"]);
    // One set of constraints per tool, as calls of one capability have.
    let constraints = (
        any::<bool>(),
        prop::option::of(prop::sample::select(vec!["g", "h"])),
        prop::collection::vec(names(), 0..3),
        prop::option::of(0..4_u32),
    );
    (prop::collection::vec(constraints, 5), prop::collection::vec(0..5_usize, 0..40)).prop_map(|(tools, calls)| {
        let all = ["a", "b", "c", "d", "e"];
        let spec = |tool: usize| {
            let (writes, group, depends_on, cap) = tools[tool].clone();
            Spec {
                tool: all[tool].into(),
                writes,
                group: group.map(str::to_owned),
                depends_on: depends_on.into_iter().map(str::to_owned).collect(),
                cap,
            }
        };
        calls.into_iter().map(spec).collect()
    })
}

/// Whether `first` must be over before `second` starts, by dependency (circles excepted).
fn depends(second: &Spec, first: &Spec) -> bool {
    second.depends_on.contains(&first.tool)
}

proptest! {
    #[test]
    fn any_batch_runs_every_call_once_and_keeps_every_constraint(
        specs in specs(),
        at_once in 1..6_usize,
        picks in prop::collection::vec(any::<prop::sample::Index>(), 40),
    ) {
        let mut schedule = schedule(&specs, at_once);
        let (mut running, mut order, mut over) = (Vec::<usize>::new(), Vec::new(), vec![false; specs.len()]);
        let mut picks = picks.iter();
        loop {
            let alone = running.is_empty();
            let ready = schedule.ready();
            for (nth, index) in ready.into_iter().enumerate() {
                // Only the call that opens a circle may start before what it depends on.
                let in_circle = alone && nth == 0;
                let early = (0..specs.len()).any(|other| !over[other] && depends(&specs[index], &specs[other]));
                prop_assert!(!early || in_circle, "call {} started before what it depends on", index);
                running.push(index);
                order.push(index);
            }
            prop_assert!(running.len() <= at_once);
            for (nth, a) in running.iter().enumerate() {
                let same_tool = running.iter().filter(|b| specs[**b].tool == specs[*a].tool).count();
                prop_assert!(same_tool <= specs[*a].cap.map_or(usize::MAX, |cap| cap.max(1) as usize));
                for b in &running[nth + 1..] {
                    prop_assert!(specs[*a].group.is_none() || specs[*a].group != specs[*b].group, "group overlaps");
                    prop_assert!(!(specs[*a].writes && specs[*b].writes), "two writes at once");
                }
            }
            if running.is_empty() {
                break;
            }
            let pick = picks.next().map_or(0, |pick| pick.index(running.len()));
            let done = running.remove(pick);
            over[done] = true;
            schedule.finished(done);
        }
        prop_assert!(schedule.is_done());
        let writes: Vec<usize> = order.iter().copied().filter(|index| specs[*index].writes).collect();
        prop_assert!(writes.is_sorted(), "writes out of call order: {:?}", writes);
        order.sort_unstable();
        prop_assert_eq!(order, (0..specs.len()).collect::<Vec<_>>(), "every call exactly once");
    }
}

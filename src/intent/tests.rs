use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;
use crate::types::{Intent, Trigger};

fn intent(text: &str) -> Intent {
    Intent::new(text).unwrap()
}

fn detect(text: &str) -> IntentReport {
    Detector::embedded().detect(&Input { text, ..Input::default() })
}

fn intents(text: &str) -> Vec<String> {
    detect(text).intents.iter().map(|found| found.intent.to_string()).collect()
}

/// Each text has exactly these intents, surest first.
fn check(cases: &[(&str, &[&str])]) {
    let wrong: Vec<_> = cases
        .iter()
        .filter(|(text, wanted)| intents(text) != *wanted)
        .map(|(text, wanted)| format!("{text}\n    found {:?}\n    wanted {wanted:?}", intents(text)))
        .collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn check_trigger(cases: &[(&str, Trigger)]) {
    let wrong: Vec<_> = cases
        .iter()
        .map(|(text, wanted)| (text, wanted, detect(text)))
        .filter(|(_, wanted, report)| report.trigger != **wanted)
        .map(|(text, wanted, report)| {
            format!("{text}: {} ({}), wanted {wanted}", report.trigger, report.trigger_because)
        })
        .collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_example_inputs_of_the_specification_are_found_in_english() {
    check(&[
        ("What do the latest OpenAI tool docs say about web search?", &["web.search", "url.fetch"]),
        ("Find the latest documentation of the OpenAI tools.", &["web.search", "url.fetch"]),
        ("Find the outliers in this CSV", &["file.read", "code.exec"]),
        ("Which values in sales.csv are outliers?", &["file.read", "code.exec"]),
        ("Why is this pod in CrashLoopBackOff?", &["k8s.get_pod", "log.search", "metric.query"]),
        ("why is pod checkout-7d9f in crashloopbackoff", &["k8s.get_pod", "log.search", "metric.query"]),
        ("Send an apology mail to the customer", &["email.create_draft"]),
        ("Please send Bob an email to apologize for the delay.", &["email.create_draft"]),
    ]);
}

#[test]
fn the_example_inputs_of_the_specification_are_found_in_chinese() {
    check(&[
        ("OpenAI Responses API 现在有哪些内置工具？", &["web.search", "url.fetch"]),
        ("OpenAI 最新的工具文档是怎么说的？", &["web.search", "url.fetch"]),
        ("找出这个 CSV 里的异常值", &["file.read", "code.exec"]),
        ("帮我统计一下 sales.csv 中的离群点", &["file.read", "code.exec"]),
        ("为什么这个 pod 一直 CrashLoopBackOff？", &["k8s.get_pod", "log.search", "metric.query"]),
        ("给客户发一封道歉邮件", &["email.create_draft"]),
        ("帮我写封邮件向王总道歉", &["email.create_draft"]),
    ]);
}

#[test]
fn a_mail_is_sent_only_when_that_is_demanded_in_so_many_words() {
    check(&[
        ("Send the team an email about the new schedule", &["email.create_draft"]),
        ("Email Anna that I am late, go ahead and send it now", &["email.send"]),
        ("Send the draft email to Bob", &["email.send"]),
        ("把这封邮件直接发送给李雷", &["email.send"]),
        ("给李雷发邮件", &["email.create_draft"]),
        ("Write a Python function that validates an email address", &[]),
        ("Is there an email from Bob about the budget in my inbox?", &["email.search"]),
    ]);
}

#[test]
fn each_source_is_its_own_intent() {
    check(&[
        ("Summarize https://example.com/blog/post-1 in three points", &["url.fetch"]),
        ("总结一下 https://example.com/a 这篇文章", &["url.fetch"]),
        ("Any news about the merger?", &["news.search"]),
        ("今天有什么科技新闻", &["news.search"]),
        ("What are people saying on Reddit about the new phone?", &["social.search"]),
        ("微博上网友怎么评价这部电影", &["social.search"]),
        ("Which file in this folder mentions the retention period?", &["file.search"]),
        ("这个文件夹里哪个文件提到了保修期", &["file.search"]),
        ("Read notes.md and tell me the deadline", &["file.read"]),
        ("What is our company policy on remote work?", &["kb.search"]),
        ("公司的年假是几天", &["kb.search"]),
        ("Where in the codebase is the retry logic implemented?", &["code.search"]),
        ("重试逻辑在哪个函数里", &["code.search"]),
        ("Compute the standard deviation of 3, 5, 8, 13", &["code.exec"]),
        ("计算 37 的 12 次方", &["code.exec"]),
        ("Show the p99 latency of the checkout service", &["metric.query"]),
        ("结算服务的错误率现在是多少", &["metric.query"]),
        ("Search the logs of the payment service for timeouts", &["log.search"]),
        ("查一下支付服务的日志", &["log.search"]),
        ("Find the trace id 4bf92f3577b34da6 in Jaeger", &["trace.search"]),
        ("看一下这个请求的调用链", &["trace.search"]),
        ("Where is order 48213?", &["business.order.query"]),
        ("订单 48213 发货了吗", &["business.order.query"]),
        ("How much does the Pixel 12 cost, what is the price?", &["web.search"]),
        ("What is the price of gold?", &["web.search"]),
        ("黄金价格是多少", &["web.search"]),
        ("Is there a known vulnerability in log4j 2.20?", &["web.search"]),
        ("CVE-2026-1234 影响哪些版本", &["web.search"]),
        ("Which tools can I use to book a room?", &["tool.search"]),
    ]);
}

#[test]
fn operations_questions_never_go_to_the_web() {
    let questions = [
        "why is the latest pod of checkout crashing",
        "what is the current error rate of the gateway",
        "show today's logs of the payment service",
        "线上服务现在为什么报错，看看日志",
        "当前集群的cpu使用率",
        "why did the deployment fail today, check the metrics",
    ];
    for question in questions {
        let found = intents(question);
        assert!(!found.is_empty() && !found.iter().any(|one| one == "web.search"), "{question}: {found:?}");
    }
}

#[test]
fn a_question_without_a_sign_of_a_source_is_not_taken_for_a_write_or_an_action() {
    let questions = [
        "What happens to a built-in tool value that is not a valid tool?",
        "How are duplicate names of tools handled?",
        "内置工具的值如果不合法会怎么样？",
        "Who decides whether a call may run?",
        "How long is a journal kept?",
    ];
    let reading = ["web.search", "kb.search", "file.search", "code.search", "tool.search"].map(str::to_owned);
    for question in questions {
        let found = intents(question);
        assert!(found.iter().all(|one| reading.contains(one)), "{question}: {found:?}");
    }
}

#[test]
fn small_talk_and_writing_need_nothing() {
    check(&[
        ("hello", &[]),
        ("thanks, that was very helpful!", &[]),
        ("Write a poem about autumn", &[]),
        ("你好呀", &[]),
        ("给我讲个笑话", &[]),
        ("", &[]),
        ("?!", &[]),
    ]);
}

#[test]
fn what_changes_must_be_looked_up() {
    check_trigger(&[
        ("What is the current version of Node?", Trigger::Required),
        ("What's new today in AI?", Trigger::Required),
        ("Price of a Model 3 in Germany", Trigger::Required),
        ("Has GPT-6 just been released? What is the latest?", Trigger::Required),
        ("What is the visa policy for Brazil?", Trigger::Required),
        ("Is there a vulnerability in openssl 3.2?", Trigger::Required),
        ("CVE-2026-1234", Trigger::Required),
        ("最新的 Rust 版本是什么", Trigger::Required),
        ("现在美元汇率多少", Trigger::Required),
        ("这款手机的价格", Trigger::Required),
        ("新能源汽车补贴政策", Trigger::Required),
        ("log4j 有哪些漏洞", Trigger::Required),
        ("OpenAI Responses API 现在有哪些内置工具？", Trigger::Required),
        ("What is a monad?", Trigger::Auto),
        ("什么是单子", Trigger::Auto),
        ("Write a poem about autumn", Trigger::Auto),
    ]);
}

#[test]
fn work_on_given_text_must_not_be_looked_up() {
    check_trigger(&[
        ("Polish this paragraph: The latest price of our product rise.", Trigger::Forbidden),
        ("Translate 'good morning' into French", Trigger::Forbidden),
        ("Explain the text above", Trigger::Forbidden),
        ("Summarize the above in two sentences", Trigger::Forbidden),
        ("润色这段话：今天天气很好", Trigger::Forbidden),
        ("把下面的句子翻译成英文：现在几点了", Trigger::Forbidden),
        ("解释一下上文", Trigger::Forbidden),
        ("总结以上内容", Trigger::Forbidden),
        ("Translate today's news from the Tagesschau", Trigger::Required),
        ("Translate README.md into Chinese", Trigger::Auto),
        ("Summarize https://example.com/a", Trigger::Auto),
    ]);
}

#[test]
fn work_on_given_text_has_no_intents() {
    check(&[
        ("Polish this paragraph: The latest price of our product rise.", &[]),
        ("润色这段话：最新的价格上涨了", &[]),
        ("翻译：为什么天是蓝的", &[]),
    ]);
}

#[test]
fn what_must_be_looked_up_and_has_no_source_goes_to_the_web() {
    let report = detect("Who is playing at the opera tonight?");
    assert_eq!(report.trigger, Trigger::Required);
    assert_eq!(report.intents.iter().map(|one| one.intent.as_str()).collect::<Vec<_>>(), ["web.search"]);
}

#[test]
fn declared_intents_win_and_citation_required_is_none() {
    let declared = [intent("citation.required"), intent("business.order.query")];
    let text = "Why is this pod in CrashLoopBackOff today?";
    let report = Detector::embedded().detect(&Input { text, declared: &declared, ..Input::default() });
    let expected = IntentReport {
        intents: vec![DetectedIntent {
            intent: intent("business.order.query"),
            confidence: 1.0,
            source: IntentSource::Declared,
            because: "the caller declared it".to_owned(),
        }],
        trigger: Trigger::Required,
        trigger_because: "it asks about the present (rule `now`)".to_owned(),
        require_citations: true,
    };
    assert_eq!(report, expected);
}

#[test]
fn citation_required_alone_leaves_detection_to_the_rules() {
    let declared = [intent("citation.required")];
    let text = "Any news about the merger?";
    let report = Detector::embedded().detect(&Input { text, declared: &declared, ..Input::default() });
    assert!(report.require_citations);
    assert_eq!(report.intents[0].intent, intent("news.search"));
}

#[test]
fn a_follow_up_inherits_the_intents_before_it() {
    let history = [intent("metric.query"), intent("log.search"), intent("email.send"), intent("citation.required")];
    let follow = |text| {
        let report = Detector::embedded().detect(&Input { text, history: &history, ..Input::default() });
        report.intents.iter().map(|one| (one.intent.to_string(), one.source)).collect::<Vec<_>>()
    };
    let inherited =
        vec![("metric.query".to_owned(), IntentSource::History), ("log.search".to_owned(), IntentSource::History)];
    for text in ["and for last week?", "What about yesterday?", "那上周呢？", "换成另一个区域"] {
        assert_eq!(follow(text), inherited, "{text}");
    }
    assert_eq!(follow("And any news about the merger?"), vec![("news.search".to_owned(), IntentSource::Rule)]);
    assert_eq!(intents("and for last week?"), Vec::<String>::new());
}

#[test]
fn the_classifier_finds_what_no_rule_names() {
    let report = detect("how many days lie between march 3 and november 20");
    let found: Vec<_> = report.intents.iter().map(|one| (one.intent.as_str(), one.source)).collect();
    assert_eq!(found, [("code.exec", IntentSource::Classifier)]);
}

#[test]
fn a_long_text_is_judged_by_its_start_and_its_end() {
    let filler = "lorem ipsum dolor sit amet ".repeat(20_000);
    assert_eq!(intents(&format!("{filler} Which values in sales.csv are outliers?")), ["file.read", "code.exec"]);
    assert_eq!(intents(&format!("Which values in sales.csv are outliers? {filler}")), ["file.read", "code.exec"]);
}

#[test]
fn the_shipped_catalog_loads_and_its_intents_have_a_namespace() {
    let shipped = Detector::from_yaml(
        include_str!("../../catalog/intent-rules.yaml"),
        include_str!("../../catalog/intents.yaml"),
    )
    .unwrap();
    let known = shipped.known_intents();
    assert_eq!(known, Detector::embedded().known_intents());
    assert!(known.len() > 20 && known.iter().all(|one| one.as_str().contains('.')), "{known:?}");
}

const SMALL: &str = "
dated: 2026-11-30
terms: {a: {en: [alpha]}, b: {zh: [贝塔]}}
rules: [{id: one, when: [a], intents: {x.y: 0.5}}]
forbidden: []
required: []
follow_up: []
look_up: web.search
";
const NO_EXAMPLES: &str = "{dated: 2026-11-30, intents: []}";

#[test]
fn other_rules_replace_the_shipped_ones() {
    let own = Detector::from_yaml(SMALL, NO_EXAMPLES).unwrap();
    let found = |text| own.detect(&Input { text, ..Input::default() }).intents.len();
    assert_eq!([found("Alpha!"), found("alphabet"), found("Why is this pod in CrashLoopBackOff?")], [1, 0, 0]);
}

#[test]
fn a_faulty_catalog_is_refused_with_the_place_and_the_remedy() {
    let refused = |from: &str, to: &str| {
        assert!(SMALL.contains(from));
        Detector::from_yaml(&SMALL.replace(from, to), NO_EXAMPLES).unwrap_err()
    };
    let rule = || "one".to_owned();
    assert_eq!(refused("when: [a]", "when: [c]"), IntentError::UnknownTerm { rule: rule(), term: "c".to_owned() });
    assert_eq!(refused("when: [a]", "unless: [a]"), IntentError::MatchesAll { rule: rule() });
    assert_eq!(
        refused("x.y: 0.5", "x.y: 1.5"),
        IntentError::Confidence { rule: rule(), intent: "x.y".to_owned(), confidence: "1.5".to_owned() }
    );
    assert_eq!(
        refused("x.y: 0.5}}", "x.y: 0.5}}, {id: one, when: [b], intents: {x.z: 0.5}}"),
        IntentError::DuplicateRule { rule: rule() }
    );
    assert!(matches!(refused("en: [alpha]", "regex: ['(']"), IntentError::Term { term, .. } if term == "a"));
    assert!(matches!(refused("en: [alpha]", "en: ['']"), IntentError::Term { term, .. } if term == "a"));
    assert!(matches!(refused("rules:", "rulez:"), IntentError::Yaml { .. }));
    assert!(matches!(Detector::from_yaml(SMALL, "intents: 7").unwrap_err(), IntentError::Yaml { .. }));
}

proptest! {
    #[test]
    fn any_text_gives_the_same_report_twice(text: String, declared in any::<bool>(), history in any::<bool>()) {
        let some = [intent("web.search")];
        let input = Input {
            text: &text,
            declared: if declared { &some } else { &[] },
            history: if history { &some } else { &[] },
        };
        let report = Detector::embedded().detect(&input);
        prop_assert_eq!(&report, &Detector::embedded().detect(&input));
        prop_assert!(report.intents.iter().all(|one| (0.0..=1.0).contains(&one.confidence)));
        prop_assert!(report.intents.windows(2).all(|pair| pair[0].confidence >= pair[1].confidence));
    }
}

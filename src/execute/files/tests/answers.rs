//! Questions whose answer stands in one passage of a folder of many: it has to come first.

use pretty_assertions::assert_eq;

use super::House;

const DOCS: &[(&str, &str)] = &[
    (
        "adapter/responses.md",
        "# Responses adapter\n\n## Building the tool list\n\nFunction tools and built-in tools are collected into one list. Function tools go first, the built-in ones follow in the order they were given. Without either, the request has no `tools` field.\n\n## Entries that cannot be used\n\nAn entry of `builtin_tools` that is no object with a string `type` is left out and logged as a warning that shows a redacted summary; the valid tools stay in the request and nothing panics.\n\n## Duplicates\n\nTwo tools of one name are refused with the error `duplicate_tool`.\n\n## Streaming\n\nEvents are folded into one reply. Unknown events are kept as notices.\n",
    ),
    (
        "adapter/chat.md",
        "# Chat adapter\n\nThe chat wire format knows function tools only. It has no built-in tools and does not pretend to have any.\n\n## Arguments\n\nArguments of a call stay text until a schema needs them, so numbers are never rounded.\n",
    ),
    (
        "turn/limits.md",
        "# Limits of a turn\n\n| limit | default |\n|---|---|\n| tool iterations | 6 |\n| tool calls | 12 |\n| wall time | 30 seconds |\n\n## Reaching one\n\nA turn that reaches a limit ends with an answer from what is known and a notice. It does not raise an exception.\n\n## Waiting for people\n\nTime spent waiting for a person does not count as wall time.\n",
    ),
    (
        "turn/resume.md",
        "# Resume after a crash\n\nThe journal is read and folded, then the turn goes on. A read that was under way is repeated.\n\n## Writes in flight\n\nA write that had started without a recorded result is `outcome_unknown`: it is looked up by its idempotency key where the tool can do that, otherwise a person is asked. It never runs twice by itself.\n",
    ),
    (
        "policy/approval.md",
        "# Approvals\n\nAn approval is a person's decision on one call. It is bound to the hash of exactly the arguments that were shown; if they change, it does not count any more.\n\n## Rejection\n\nWhen the person says no, the turn ends with an explanation, unless `on_reject: continue` hands the refusal to the model.\n",
    ),
    (
        "policy/rules.md",
        "# Rules\n\nRules are YAML. The most restrictive matching rule wins. Without any rule, reads are allowed and writes ask.\n\n## Errors in conditions\n\nAn expression that fails to evaluate denies the call, and the audit log records it.\n",
    ),
    (
        "net/fetch.md",
        "# Fetching pages\n\nOnly http and https. Addresses of the own network are refused in every spelling, and each redirect is checked again.\n\n## Size\n\nBodies are cut at two megabytes. The character set is found after the cut.\n",
    ),
    (
        "cost/budget.md",
        "# Budgets\n\nBefore a model call the worst case is reserved on the ledger of the turn; what was not used comes back. Prices are integers in millionths of a dollar.\n",
    ),
    (
        "install.md",
        "# Installation\n\nDownload the archive, unpack it and put `agcore` on the path.\n\n## Configuration file\n\nThe file is looked for at `$XDG_CONFIG_HOME/agcore/config.toml`. Values of the environment win over those of the file, flags win over both.\n\n## Uninstalling\n\nDelete the binary and the state directory.\n",
    ),
    (
        "src/retry.rs",
        "//! Retrying.\n\nuse std::time::Duration;\n\n/// How long to wait before the next attempt: doubles each time, never more than a minute.\npub fn backoff_delay(attempt: u32) -> Duration {\n    Duration::from_millis(250 * 2u64.pow(attempt)).min(Duration::from_secs(60))\n}\n\n/// Whether a status is worth another attempt.\npub fn is_retryable(status: u16) -> bool {\n    matches!(status, 408 | 425 | 429 | 500..=599)\n}\n",
    ),
    (
        "src/redactor.py",
        "class SecretRedactor:\n    \"\"\"Masks known secrets in text before it is logged.\"\"\"\n\n    def mask_api_keys(self, text):\n        for key in self.keys:\n            text = text.replace(key, '****')\n        return text\n",
    ),
    (
        "data/customers.csv",
        "customer_id,name,city,plan\n1001,Aurora Bakery,Lyon,basic\n1002,Blue Harbor,Genoa,premium\n1003,Cedar Works,Bergen,basic\n",
    ),
    (
        "data/incidents.jsonl",
        "{\"id\": 17, \"service\": \"checkout\", \"cause\": \"expired certificate\", \"minutes\": 42}\n{\"id\": 18, \"service\": \"search\", \"cause\": \"disk full\", \"minutes\": 11}\n",
    ),
    (
        "manual.html",
        "<html><head><title>Operator manual</title></head><body><nav>Home</nav><h1>Operator manual</h1><h2>Rotating keys</h2><p>Keys are rotated every ninety days by the operator on duty.</p><h2>Backups</h2><p>Backups run nightly at two and are kept for a month.</p></body></html>",
    ),
    (
        "zh/请假制度.md",
        "# 请假制度\n\n## 年假\n\n员工工作满一年后，每年享有十天带薪年假，未休完的年假可以结转到次年三月底。\n\n## 病假\n\n病假需要提供医院证明，三天以内由直属主管审批。\n\n## 婚假\n\n婚假为十个工作日，需提前两周提出申请。\n",
    ),
    (
        "zh/报销流程.md",
        "# 报销流程\n\n出差费用在返回后十五天内提交，超过期限不予受理。\n\n## 发票\n\n发票抬头必须是公司全称，电子发票需要打印后粘贴。\n\n## 审批\n\n金额超过五千元的报销单由部门经理和财务总监共同审批。\n",
    ),
    (
        "zh/工具运行时.md",
        "# 工具运行时\n\n## 无效的内置工具\n\n内置工具列表里的值如果不是有效的工具对象，会被跳过并写入警告日志，其余有效的工具照常发送。\n\n## 超时\n\n每个工具调用默认十五秒超时，超时后模型可以继续回答。\n",
    ),
    ("zh/网络安全.md", "# 网络安全\n\n办公网络禁止私自接入路由器。访客使用独立的无线网络，密码每周一更换。\n"),
    (
        "notes/meeting.txt",
        "Meeting of the tool group\n=========================\n\nWe talked about tools, values, valid entries and what happens when a tool fails. No decision was taken.\n\nNext meeting on Thursday.\n",
    ),
    (
        "notes/glossary.md",
        "# Glossary\n\nTool: something a model may call.\n\nValue: what a field holds.\n\nBuilt-in: made by the provider.\n\nTaint: the mark a turn carries once untrusted content has entered its context.\n",
    ),
];

/// Question, the file that answers it, words that the first passage must hold.
const QUESTIONS: &[(&str, &str, &str)] = &[
    ("What happens to a built-in tool value that is not a valid tool?", "adapter/responses.md", "left out and logged"),
    ("In which order are function tools and built-in tools sent?", "adapter/responses.md", "Function tools go first"),
    ("What if two tools have the same name?", "adapter/responses.md", "duplicate_tool"),
    ("Does the chat adapter support built-in tools?", "adapter/chat.md", "does not pretend"),
    ("Does waiting for a person count towards the wall time?", "turn/limits.md", "does not count as wall time"),
    ("What happens when a turn reaches its limit?", "turn/limits.md", "ends with an answer"),
    ("Does a started write run again after a crash?", "turn/resume.md", "never runs twice"),
    ("What is an approval bound to?", "policy/approval.md", "hash of exactly the arguments"),
    ("Which rule wins when several match?", "policy/rules.md", "most restrictive"),
    ("Where is the configuration file?", "install.md", "XDG_CONFIG_HOME"),
    ("How do I uninstall it?", "install.md", "Delete the binary"),
    ("how long is the backoff delay between attempts", "src/retry.rs", "backoff_delay"),
    ("where are api keys masked", "src/redactor.py", "mask_api_keys"),
    ("Which plan does Blue Harbor have?", "data/customers.csv", "Blue Harbor,Genoa,premium"),
    ("What caused the checkout incident?", "data/incidents.jsonl", "expired certificate"),
    ("How often are keys rotated?", "manual.html", "ninety days"),
    ("What does taint mean?", "notes/glossary.md", "Taint: the mark"),
    ("年假有几天？", "zh/请假制度.md", "十天带薪年假"),
    ("病假需要什么证明", "zh/请假制度.md", "医院证明"),
    ("超过五千元的报销由谁审批？", "zh/报销流程.md", "财务总监"),
    ("内置工具的值不是有效工具时会怎么样？", "zh/工具运行时.md", "会被跳过"),
    ("访客的无线网络密码多久更换一次？", "zh/网络安全.md", "每周一更换"),
];

#[tokio::test]
async fn the_passage_that_answers_comes_first() {
    let files: Vec<(&str, &[u8])> = DOCS.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
    let house = House::with(&files);
    let (workspace, _) = house.open().await;
    let mut wrong = Vec::new();
    for (question, path, words) in QUESTIONS {
        let found = workspace.search(question, 3, None).await.unwrap();
        let first = found.first();
        if first.is_none_or(|first| first.path != *path || !first.text.contains(words)) {
            let seen: Vec<_> =
                found.iter().map(|one| format!("{:.3} {} {:?}", one.score, one.path, one.lines)).collect();
            wrong.push(format!("{question}\n    {}", seen.join("\n    ")));
        } else if first.is_some_and(|first| !first.quote.contains(words) && path.ends_with(".md")) {
            wrong.push(format!("{question}\n    quoted: {}", first.map_or("", |first| first.quote.as_str())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_question_about_something_else_finds_nothing() {
    let files: Vec<(&str, &[u8])> = DOCS.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
    let house = House::with(&files);
    let (workspace, _) = house.open().await;
    for question in ["Who painted the Mona Lisa?", "法国的首都是哪里？", "??", ""] {
        assert_eq!(workspace.search(question, 3, None).await.unwrap(), [], "{question}");
    }
}

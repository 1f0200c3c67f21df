//! What kind of action words speak of: those of a user's request, and those a capability is named with.

use super::words::is_unspaced;
use crate::capability::Capability;

/// A kind of action that changes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Something goes to somebody: a mail, a message, a post.
    Send,
    /// Money moves.
    Pay,
    /// Something comes into being: a file, an event, a booking.
    Create,
    /// Something that is there becomes different.
    Change,
    /// Something goes away: deleted, cancelled, removed.
    Delete,
    /// Somebody gets access: an invitation, a share, a membership.
    Grant,
    /// Something is set going: a deployment, a restart, a job.
    Operate,
}

impl Action {
    /// Every kind, in order.
    pub const ALL: &'static [Self] =
        &[Self::Send, Self::Pay, Self::Create, Self::Change, Self::Delete, Self::Grant, Self::Operate];

    /// The word as rules write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Pay => "pay",
            Self::Create => "create",
            Self::Change => "change",
            Self::Delete => "delete",
            Self::Grant => "grant",
            Self::Operate => "operate",
        }
    }
}

/// Whether the user's words ask for what a capability does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// They name such an action.
    Yes,
    /// They name none, and nothing in them leaves that open.
    No,
    /// It cannot be told: they hand the choice on ("do what the mail says"), are in a language whose verbs are not
    /// known here, or the capability is named after no known action.
    Unclear,
}

impl Asked {
    /// Every answer.
    pub const ALL: &'static [Self] = &[Self::Yes, Self::No, Self::Unclear];

    /// The word as rules write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Unclear => "unclear",
        }
    }
}

/// A set of actions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Actions(u8);

impl Actions {
    fn add(&mut self, action: Action) {
        self.0 |= 1 << (action as u8);
    }

    pub(super) fn has(self, action: Action) -> bool {
        self.0 & (1 << (action as u8)) != 0
    }

    pub(super) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn iter(self) -> impl Iterator<Item = Action> {
        Action::ALL.iter().copied().filter(move |action| self.has(*action))
    }
}

/// English verbs by action. `*` stands for any ending; `^` for a word that is a noun as often, and counts only where a
/// verb stands.
const ENGLISH: &[(Action, &[&str])] = {
    use Action::{Change, Create, Delete, Grant, Operate, Pay, Send};
    &[
        (
            Send,
            &[
                "send",
                "sends",
                "sending",
                "resend",
                "reply",
                "replies",
                "replying",
                "respond*",
                "forward*",
                "notif*",
                "publish*",
                "tweet*",
                "announc*",
                "submit*",
                "upload*",
                "shar*",
                "inform",
                "contact",
                "broadcast*",
                "deliver*",
                "write",
                "writes",
                "^email",
                "^e",
                "^mail",
                "^message",
                "^text",
                "^post",
                "^dm",
                "^ping",
                "posting",
                "emailing",
                "messaging",
                "^answer",
            ],
        ),
        (
            Pay,
            &[
                "pay",
                "pays",
                "paying",
                "repay",
                "payment",
                "payments",
                "refund*",
                "transfer*",
                "reimburs*",
                "wire",
                "buy",
                "buys",
                "buying",
                "purchas*",
                "donat*",
                "remit*",
                "^tip",
                "^order",
                "^charge",
                "invest*",
                "deposit*",
                "withdraw*",
                "settle",
            ],
        ),
        (
            Create,
            &[
                "creat*",
                "make",
                "makes",
                "making",
                "add",
                "adds",
                "adding",
                "schedul*",
                "reserv*",
                "write",
                "writes",
                "writing",
                "sav*",
                "append*",
                "insert*",
                "regist*",
                "draft*",
                "generat*",
                "organiz*",
                "organis*",
                "arrang*",
                "remind*",
                "put",
                "^set",
                "^book",
                "booking",
                "^plan",
                "^record",
                "^log",
                "^file",
                "^open",
                "^copy",
                "^post",
                "upload*",
                "duplicat*",
            ],
        ),
        (
            Change,
            &[
                "updat*",
                "chang*",
                "modif*",
                "edit*",
                "adjust*",
                "reschedul*",
                "renam*",
                "correct*",
                "replac*",
                "amend*",
                "switch*",
                "revis*",
                "append*",
                "add",
                "adds",
                "adding",
                "assign*",
                "enabl*",
                "disabl*",
                "restor*",
                "convert*",
                "merg*",
                "approv*",
                "reopen*",
                "increas*",
                "decreas*",
                "extend*",
                "postpon*",
                "^set",
                "^move",
                "^mark",
                "^close",
                "^reset",
                "^fix",
                "^put",
                "^lower",
                "^raise",
            ],
        ),
        (
            Delete,
            &[
                "delet*",
                "remov*",
                "cancel*",
                "eras*",
                "revok*",
                "unsubscrib*",
                "terminat*",
                "destroy*",
                "purg*",
                "uninstall*",
                "discard*",
                "wipe",
                "kick",
                "^drop",
                "^clear",
                "^empty",
                "^trash",
                "^close",
                "^archive",
                "rid",
            ],
        ),
        (
            Grant,
            &[
                "invit*",
                "shar*",
                "grant*",
                "add",
                "adds",
                "adding",
                "authori*",
                "permit*",
                "enrol*",
                "subscrib*",
                "promot*",
                "^allow",
            ],
        ),
        (
            Operate,
            &[
                "deploy*",
                "restart*",
                "reboot*",
                "rollback*",
                "execut*",
                "launch*",
                "trigger*",
                "^run",
                "^start",
                "^stop",
                "^scale",
                "^roll",
                "^kill",
                "^turn",
            ],
        ),
    ]
};

/// Chinese verbs by action, found anywhere.
const CHINESE: &[(Action, &[&str])] = &[
    (Action::Send, &["发", "寄", "回复", "答复", "转告", "通知", "告知", "提交", "上传", "分享", "写信", "公布"]),
    (
        Action::Pay,
        &[
            "付", "转账", "转帐", "转给", "汇", "退款", "退给", "退还", "购买", "买", "缴", "还款", "还钱", "充值",
            "打款", "打钱",
        ],
    ),
    (
        Action::Create,
        &[
            "创建", "新建", "建立", "建一", "添加", "增加", "加到", "加入", "新增", "预订", "预约", "预定", "订",
            "安排", "写", "保存", "记录", "生成", "提醒", "设置", "追加",
        ],
    ),
    (
        Action::Change,
        &[
            "更新",
            "修改",
            "更改",
            "改成",
            "改为",
            "改到",
            "改期",
            "调整",
            "移动",
            "移到",
            "重命名",
            "替换",
            "设置",
            "设为",
            "标记",
            "关闭",
            "重置",
            "启用",
            "禁用",
            "延期",
            "推迟",
            "追加",
            "添加",
            "加到",
            "加入",
        ],
    ),
    (Action::Delete, &["删", "移除", "取消", "清空", "清除", "撤销", "退订", "注销", "销毁", "踢", "去掉"]),
    (Action::Grant, &["邀请", "分享", "授权", "共享", "允许", "拉进", "拉入", "添加", "加入"]),
    (Action::Operate, &["部署", "重启", "回滚", "运行", "执行", "停止", "启动", "触发"]),
];

/// Phrases that hand the choice of action on to something that is yet to be read. Normalised.
const HANDED_ON: &[&str] = &[
    " the actions ",
    " the tasks ",
    " all tasks ",
    " the instructions ",
    " instructions in ",
    " instructions from ",
    " the steps ",
    " todo ",
    " todos ",
    " to do list ",
    " to dos ",
    " the todo ",
    " take care ",
    " deal with ",
    " handle ",
    " accordingly ",
    " as described ",
    " as specified ",
    " as instructed ",
    " as requested ",
    " follow ",
    " do it ",
    " go ahead ",
    " carry out ",
    " necessary ",
    " whatever ",
    " act on ",
    " what it says ",
    " what they ask ",
    " 照 做 ",
    " 按 照 ",
    " 照 着 ",
    " 任 务 ",
    " 待 办 ",
    " 处 理 ",
    " 指 示 ",
    " 同 意 ",
    " 好 的 ",
];

/// Words by which a text is known to be English.
const ENGLISH_WORDS: [&str; 32] = [
    "and",
    "are",
    "can",
    "could",
    "find",
    "for",
    "from",
    "get",
    "give",
    "how",
    "is",
    "it",
    "list",
    "me",
    "my",
    "of",
    "please",
    "read",
    "show",
    "summarize",
    "tell",
    "that",
    "the",
    "this",
    "to",
    "what",
    "when",
    "where",
    "which",
    "who",
    "with",
    "you",
];

/// Words after which a verb stands.
const BEFORE_VERB: [&str; 20] = [
    "also", "and", "can", "could", "just", "kindly", "must", "now", "or", "please", "should", "so", "then", "to", "us",
    "will", "would", "you", "lets", "let",
];

/// What a request (normalised, with its sentences) asks for, and whether that is all it asks for.
pub(super) fn of_request(text: &str, sentences: &str) -> (Actions, bool) {
    let mut actions = Actions::default();
    for sentence in sentences.split(['.', '!', '?', '\n', ';', ':', ',', '。', '！', '？', '；', '：', '，']) {
        let sentence = super::words::normalise(sentence);
        let mut before = "";
        for word in sentence.split(' ').filter(|word| !word.is_empty()) {
            let numbered = before.bytes().all(|byte| byte.is_ascii_digit());
            let as_verb = numbered || BEFORE_VERB.contains(&before);
            add_english(&mut actions, word, as_verb);
            before = word;
        }
    }
    let joined: String = text.chars().filter(|c| *c != ' ').collect();
    let chinese = text.chars().any(is_unspaced);
    if chinese {
        for (action, words) in CHINESE {
            if words.iter().any(|word| joined.contains(word)) {
                actions.add(*action);
            }
        }
    }
    let kana = text.chars().any(|c| matches!(u32::from(c), 0x3041..=0x30FF | 0x0E00..=0x0EFF));
    let english = text.split(' ').any(|word| ENGLISH_WORDS.binary_search(&word).is_ok());
    let handed_on = HANDED_ON.iter().any(|phrase| text.contains(phrase));
    let unclear = handed_on || kana || !(english || chinese);
    (actions, unclear)
}

/// What a capability does, by the words it is named with: the verbs of the last part of its intent, of its id, and of
/// its function.
pub(super) fn of_capability(capability: &Capability) -> Actions {
    let function = capability.execution.function_name.as_deref().or(capability.execution.mcp_tool.as_deref());
    let mut actions = Actions::default();
    let mut before = "";
    for name in [Some(capability.intent.as_str()), Some(capability.id.as_str()), function].into_iter().flatten() {
        let name = last_part(name);
        if name == before {
            continue;
        }
        before = name;
        let words = name_words(name);
        for (at, word) in words.iter().enumerate() {
            add_english(&mut actions, word, at == 0);
        }
        let money = ["money", "payment", "payments", "transaction", "transfer", "refund", "funds"];
        let moves = actions.has(Action::Send) || actions.has(Action::Create);
        if moves && words.iter().any(|word| money.contains(&word.as_str())) {
            actions.add(Action::Pay);
        }
    }
    actions
}

fn last_part(name: &str) -> &str {
    name.rsplit(['.', '/', ':']).find(|part| !part.is_empty()).unwrap_or(name)
}

/// `sendDirectMessage` → `send`, `direct`, `message`.
fn name_words(last: &str) -> Vec<String> {
    let mut spaced = String::with_capacity(last.len() + 4);
    let mut before = ' ';
    for c in last.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            spaced.push(' ');
        }
        spaced.push(if c.is_alphanumeric() { c } else { ' ' });
        before = c;
    }
    spaced.to_lowercase().split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn add_english(actions: &mut Actions, word: &str, as_verb: bool) {
    for (action, patterns) in ENGLISH {
        if !actions.has(*action) && patterns.iter().any(|pattern| fits(pattern, word, as_verb)) {
            actions.add(*action);
        }
    }
}

fn fits(pattern: &str, word: &str, as_verb: bool) -> bool {
    if let Some(noun) = pattern.strip_prefix('^') {
        return as_verb && noun == word;
    }
    match pattern.strip_suffix('*') {
        Some(stem) => word.starts_with(stem),
        None => word == pattern,
    }
}

#[cfg(test)]
pub(super) fn check_lists() {
    assert!(ENGLISH_WORDS.is_sorted());
}

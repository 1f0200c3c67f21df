//! Addresses in text: e-mail, URLs and hosts, bank accounts. They are compared whole, letter by letter.

use super::words::{is_invisible, is_unspaced, plain};

/// An address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    /// `name@host`, in lower case.
    Mail(String),
    /// A URL or a bare host.
    Web(Web),
    /// An account number with a country (IBAN), in upper case.
    Account(String),
}

/// The parts of a URL that say where it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Web {
    /// The host, in lower case, without `www.`.
    pub(super) host: String,
    /// The path, without a slash at its end.
    pub(super) path: String,
    /// Query, user and fragment: what can carry data to the host beside its path.
    pub(super) cargo: String,
}

/// Endings of bare names that mean a file more often than a host.
const FILES: [&str; 40] = [
    "bak", "bmp", "cfg", "conf", "cpp", "css", "csv", "doc", "docx", "eml", "exe", "gif", "gz", "htm", "html", "ics",
    "ini", "java", "jpeg", "jpg", "js", "json", "log", "md", "mov", "mp3", "mp4", "odt", "pdf", "php", "png", "ppt",
    "pptx", "py", "rs", "sh", "txt", "xls", "xlsx", "xml",
];

/// Every address of a text, in order.
pub(super) fn all(text: &str) -> Vec<Address> {
    let text: String = text.chars().filter(|c| !is_invisible(*c)).map(plain).collect();
    text.split(|c: char| c.is_whitespace() || is_unspaced(c) || is_separator(c)).filter_map(read).collect()
}

fn is_separator(c: char) -> bool {
    matches!(
        c,
        '"' | '\''
            | '`'
            | '<'
            | '>'
            | '('
            | ')'
            | '['
            | ']'
            | '{'
            | '}'
            | ','
            | ';'
            | '|'
            | '“'
            | '”'
            | '‘'
            | '’'
            | '，'
            | '。'
            | '；'
            | '、'
            | '：'
            | '「'
            | '」'
            | '《'
            | '》'
            | '（'
            | '）'
    )
}

/// One word as an address, when it is one.
pub(super) fn read(word: &str) -> Option<Address> {
    let word = word.trim_matches(|c: char| matches!(c, '.' | ',' | '!' | '?' | ':' | '*' | '_' | '~'));
    if let Some(account) = account(word) {
        return Some(Address::Account(account));
    }
    let mail = word.strip_prefix("mailto:").unwrap_or(word);
    if let Some(mail) = mail_address(mail) {
        return Some(Address::Mail(mail));
    }
    if word.contains("://") || word.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("www.")) {
        return web(word).map(Address::Web);
    }
    is_bare_host(word).then(|| web(word)).flatten().map(Address::Web)
}

fn mail_address(word: &str) -> Option<String> {
    let (name, host) = word.split_once('@')?;
    let fits = !name.is_empty() && !name.contains(['/', ':']) && is_host(host.trim_end_matches('/'));
    fits.then(|| word.trim_end_matches('/').to_lowercase())
}

fn is_host(host: &str) -> bool {
    let labels: Vec<&str> = host.split('.').collect();
    labels.len() > 1
        && labels.iter().all(|label| {
            !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-') && label.len() <= 63
        })
}

/// `example.com`, `example.com/page`; not `report.pdf`, `today.Then` or `3.5`.
fn is_bare_host(word: &str) -> bool {
    let (host, rest) = word.find(['/', '?', '#']).map_or((word, ""), |at| word.split_at(at));
    let host = host.split_once(':').map_or(host, |(host, _)| host);
    let Some((_, last)) = host.rsplit_once('.') else { return false };
    let top = (2..=24).contains(&last.len()) && last.bytes().all(|byte| byte.is_ascii_lowercase());
    is_host(host) && top && (!rest.is_empty() || FILES.binary_search(&last).is_err())
}

/// `DE89 3704 …` without the blanks: two letters, two digits, 11 to 30 letters and digits, most of them digits.
fn account(word: &str) -> Option<String> {
    let bytes = word.as_bytes();
    let (country, rest) = bytes.split_at_checked(2)?;
    let digits = rest.iter().filter(|byte| byte.is_ascii_digit()).count();
    let fits = country.iter().all(u8::is_ascii_alphabetic)
        && rest.iter().take(2).all(u8::is_ascii_digit)
        && rest.iter().all(u8::is_ascii_alphanumeric)
        && (13..=32).contains(&rest.len())
        && digits * 2 > rest.len();
    fits.then(|| word.to_ascii_uppercase())
}

/// Where a URL, with or without its scheme, goes. `None` when nobody could follow it.
pub(super) fn web(text: &str) -> Option<Web> {
    let text = text.trim();
    // Clients do not agree on where these end the host.
    if text.contains(|c: char| c == '\\' || c.is_whitespace() || c.is_control()) {
        return None;
    }
    let parsed = if text.contains("://") { url::Url::parse(text) } else { url::Url::parse(&format!("https://{text}")) };
    let url = parsed.ok()?;
    let host = url.host_str()?.trim_end_matches('.');
    let host = host.strip_prefix("www.").unwrap_or(host).to_lowercase();
    let mut cargo = String::new();
    cargo.push_str(url.username());
    for part in [url.password(), url.query(), url.fragment()].into_iter().flatten() {
        cargo.push_str(part);
    }
    Some(Web { host, path: url.path().trim_end_matches('/').to_owned(), cargo })
}

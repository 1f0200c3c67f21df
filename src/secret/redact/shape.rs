//! Secrets that give themselves away by their shape: keys with a vendor's prefix, tokens, private keys, passwords in
//! addresses. Prefixes and lengths as the vendors document them (looked up 2026-05).

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

/// A shape: which matches are its own, and what of a match is the secret.
struct Shape {
    /// The pattern. It begins with a literal, so that the search can jump to it.
    pattern: &'static str,
    /// How a match of it begins.
    prefixes: &'static [&'static str],
    /// The part of the match to mask; `None` when it is no secret after all.
    secret: fn(&str) -> Option<Range<usize>>,
}

const SHAPES: &[Shape] = &[
    // OpenAI, Anthropic, DeepSeek, Aliyun Bailian, OpenRouter and many more; `sk-learn` is none.
    Shape { pattern: r"(?-u:\b)sk-[A-Za-z0-9_-]{13,}", prefixes: &["sk-"], secret: dashed },
    Shape {
        pattern: r"(?-u:\b)(?:sk|rk|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,}",
        prefixes: &["sk_", "rk_", "whsec_"],
        secret: mixed,
    },
    Shape { pattern: r"(?-u:\b)(?:AKIA|ASIA)[0-9A-Z]{16}(?-u:\b)", prefixes: &["AKIA", "ASIA"], secret: whole },
    Shape { pattern: r"(?-u:\b)LTAI[A-Za-z0-9]{12,}", prefixes: &["LTAI"], secret: mixed },
    Shape { pattern: r"(?-u:\b)AKID[A-Za-z0-9]{24,}", prefixes: &["AKID"], secret: mixed },
    Shape { pattern: r"(?-u:\b)AIza[0-9A-Za-z_-]{35}", prefixes: &["AIza"], secret: whole },
    Shape { pattern: r"(?-u:\b)ya29\.[0-9A-Za-z_-]{20,}", prefixes: &["ya29."], secret: whole },
    Shape {
        pattern: r"(?-u:\b)(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{36,}",
        prefixes: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        secret: whole,
    },
    Shape { pattern: r"(?-u:\b)github_pat_[A-Za-z0-9_]{40,}", prefixes: &["github_pat_"], secret: whole },
    Shape { pattern: r"(?-u:\b)glpat-[A-Za-z0-9_-]{20,}", prefixes: &["glpat-"], secret: whole },
    Shape { pattern: r"(?-u:\b)xox[abeprs]-[A-Za-z0-9-]{10,}", prefixes: &["xox"], secret: mixed },
    Shape { pattern: r"(?-u:\b)xai-[A-Za-z0-9]{40,}", prefixes: &["xai-"], secret: whole },
    Shape { pattern: r"(?-u:\b)gsk_[A-Za-z0-9]{40,}", prefixes: &["gsk_"], secret: whole },
    Shape { pattern: r"(?-u:\b)hf_[A-Za-z]{30,}", prefixes: &["hf_"], secret: whole },
    Shape { pattern: r"(?-u:\b)tvly-[A-Za-z0-9_-]{20,}", prefixes: &["tvly-"], secret: mixed },
    Shape { pattern: r"(?-u:\b)npm_[A-Za-z0-9]{36}", prefixes: &["npm_"], secret: whole },
    Shape { pattern: r"(?-u:\b)pypi-[A-Za-z0-9_-]{50,}", prefixes: &["pypi-"], secret: whole },
    Shape { pattern: r"(?-u:\b)SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}", prefixes: &["SG."], secret: whole },
    // A signed token (RFC 7519): header and payload are JSON objects, so both begin with `{"`.
    Shape {
        pattern: r"(?-u:\b)eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
        prefixes: &["eyJ"],
        secret: whole,
    },
    Shape {
        pattern: concat!(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:\s|\\[nr])*",
            r#"(?:[A-Za-z-]{1,40}: [^\n"]{0,200}\n)*(?:[A-Za-z0-9+/=]{16,}(?:\s|\\[nr])*)+"#,
            r"(?:[A-Za-z0-9+/=]*(?:\s|\\[nr])*-----END [A-Z0-9 ]{0,60}-----)?",
        ),
        prefixes: &["-----BEGIN"],
        secret: whole,
    },
    Shape {
        pattern: r"(?:Bearer|bearer|BEARER)[ \t]+[A-Za-z0-9._~+/-]{8,}=*",
        prefixes: &["Bearer", "bearer", "BEARER"],
        secret: bearer,
    },
    // user:password@ in an address (RFC 3986, 3.2.1).
    Shape { pattern: r#"://[^\s/@:"'<>\\]{0,256}:[^\s/@"'<>\\]{1,256}@"#, prefixes: &["://"], secret: password },
];

static ANY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let patterns: Vec<&str> = SHAPES.iter().map(|shape| shape.pattern).collect();
    Regex::new(&patterns.join("|")).ok()
});

/// Adds the secrets in `text` that have a known shape.
pub(super) fn find(text: &str, spans: &mut Vec<Range<usize>>) {
    let Some(any) = ANY.as_ref() else { return };
    for found in any.find_iter(text) {
        let shape = SHAPES.iter().find(|shape| shape.prefixes.iter().any(|prefix| found.as_str().starts_with(prefix)));
        if let Some(secret) = shape.and_then(|shape| (shape.secret)(found.as_str())) {
            spans.push(found.start() + secret.start..found.start() + secret.end);
        }
    }
}

fn whole(text: &str) -> Option<Range<usize>> {
    Some(0..text.len())
}

/// Letters alone are words, not keys.
fn mixed(text: &str) -> Option<Range<usize>> {
    (digits(text) >= 2).then_some(0..text.len())
}

/// One of the parts between dashes must look random: `sk-learn-0-24-documentation` has none.
fn dashed(text: &str) -> Option<Range<usize>> {
    let random = |part: &str| part.len() >= 8 && digits(part) >= 2 && (part.len() >= 12 || digits(part) < part.len());
    text.split('-').skip(1).any(random).then_some(0..text.len())
}

fn bearer(text: &str) -> Option<Range<usize>> {
    let start = text.rfind([' ', '\t'])? + 1;
    (digits(text) >= 2).then_some(start..text.len())
}

fn password(text: &str) -> Option<Range<usize>> {
    let start = 3 + text.get(3..)?.find(':')? + 1;
    let end = text.len() - 1;
    let value = text.get(start..end)?;
    (!super::named::is_placeholder(value)).then_some(start..end)
}

fn digits(text: &str) -> usize {
    text.bytes().filter(u8::is_ascii_digit).count()
}

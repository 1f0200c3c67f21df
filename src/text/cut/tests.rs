use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

use super::*;

/// DEV-F01
#[test]
fn ideographs_are_never_cut_in_two() {
    let text = "中".repeat(40_000);
    for max in 24_998..=25_003 {
        let cut = to_bytes(&text, max);
        assert_eq!(cut.len(), max / 3 * 3);
        assert_eq!(cut, "中".repeat(max / 3));
    }
}

/// DEV-F01
#[test]
fn box_lines_are_cut_between_their_characters() {
    let text = "│ a └──┘\n".repeat(50);
    let cut = to_bytes(&text, 200);
    assert!(text.starts_with(cut) && (197..=200).contains(&cut.len()));
}

/// DEV-F01
#[test]
fn an_error_text_with_ideographs_at_the_limit_survives() {
    let text = format!("{}汉字 was not found", "e".repeat(199));
    let cuts = [199, 200, 201, 202, 203, 205].map(|max| to_bytes(&text, max).len());
    assert_eq!(cuts, [199, 199, 199, 202, 202, 205]);
}

/// DEV-F01
#[test]
fn an_id_shorter_than_its_display_is_shown_whole() {
    assert_eq!(to_chars("c1", 8), "c1");
    assert_eq!(to_bytes("", 8), "");
    assert_eq!(to_chars("0123456789", 8), "01234567");
}

#[test]
fn a_cluster_stays_whole_or_goes_whole() {
    let family = "👨\u{200d}👩\u{200d}👧";
    assert_eq!(to_bytes(family, family.len() - 1), "");
    assert_eq!(to_chars(&format!("a{family}"), 3), "a");
    assert_eq!(to_bytes("ab\r\ncd", 3), "ab");
    assert_eq!(to_bytes("e\u{301}x", 2), "");
    assert_eq!(tail_bytes("🇩🇪🇫🇷", 11), "🇫🇷");
}

#[test]
fn the_middle_says_how_much_it_left_out() {
    let text = "0123456789".repeat(100);
    let cut = middle(&text, 100);
    assert_eq!(cut, format!("{} […{} bytes left out…] {}", &text[..36], 1000 - 36 - 18, &text[982..]));
    assert!(cut.len() <= 100);
    assert_eq!(middle("short", 100), "short");
    assert_eq!(middle(&text, 20), "01234567890123456789");
}

#[test]
fn tokens_are_charged_by_script() {
    let count = |text: &str| tokens(text).0;
    assert_eq!(count(""), 0);
    assert_eq!(count("the cat sat"), 3);
    assert_eq!(count("internationalization"), 5);
    assert_eq!(count("今天天气很好"), 6);
    assert_eq!(count("1234567890"), 10);
    assert_eq!(count("----------------"), 4);
    assert_eq!(count("🎉"), 3);
    assert!(count("aGVsbG8gd29ybGQhIQ") >= 9, "Base64 is dense");
}

#[test]
fn a_text_within_the_budget_comes_back_whole() {
    assert_eq!(to_tokens("the cat sat", Tokens(3)), "the cat sat");
    assert_eq!(to_tokens("the cat sat", Tokens(2)), "the cat ");
    assert_eq!(tail_tokens("the cat sat", Tokens(1)), "sat");
    assert!(fits("the cat sat", Tokens(3)) && !fits("the cat sat", Tokens(2)));
    assert!(fits("12", Tokens(2)) && !fits("12", Tokens(1)));
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[a-zA-Z0-9 {}:\",\r\n-]{0,80}", "[中文字\u{301}\u{200d}🇩🇪👩é─ a]{0,60}",]
}

proptest! {
    #[test]
    fn every_cut_is_a_start_within_the_limit_on_a_boundary(text in any_text(), max in 0usize..120) {
        let mut boundaries: Vec<usize> = text.grapheme_indices(true).map(|(at, _)| at).collect();
        boundaries.push(text.len());
        let longest = boundaries.iter().copied().filter(|at| *at <= max).max().unwrap_or(0);
        prop_assert_eq!(to_bytes(&text, max), &text[..longest]);

        let chars = to_chars(&text, max);
        prop_assert!(chars.chars().count() <= max && boundaries.contains(&chars.len()));

        let tail = tail_bytes(&text, max);
        prop_assert!(tail.len() <= max && text.ends_with(tail) && boundaries.contains(&(text.len() - tail.len())));

        prop_assert!(middle(&text, max).len() <= max);
    }

    #[test]
    fn a_cut_to_tokens_keeps_the_budget(text in any_text(), budget in 0u64..60) {
        let all = tokens(&text);
        prop_assert!(all.0 <= text.len() as u64);
        let head = to_tokens(&text, Tokens(budget));
        prop_assert!(text.starts_with(head) && tokens(head).0 <= budget);
        let tail = tail_tokens(&text, Tokens(budget));
        prop_assert!(text.ends_with(tail) && tokens(tail).0 <= budget);
        prop_assert_eq!(fits(&text, Tokens(budget)), all.0 <= budget || text.len() as u64 <= budget);
        if all.0 <= budget {
            prop_assert_eq!(head, text.as_str());
        }
    }
}

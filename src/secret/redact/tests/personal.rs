//! Personal data: what is masked, what is not, and that masking twice is masking once.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::super::*;

static ALL: LazyLock<Redactor> = LazyLock::new(|| Redactor::default().personal(PersonalKinds::ALL));

fn masked(text: &str) -> String {
    ALL.text(text).into_inner().into_owned()
}

/// Each line holds one value in braces; all of it and nothing else is masked.
fn all_masked(lines: &str) {
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let plain = line.replace(['⟨', '⟩'], "");
        let mut expected = String::new();
        for part in line.split('⟩') {
            let (before, _) = part.split_once('⟨').map_or((part, None), |(before, value)| (before, Some(value)));
            expected.push_str(before);
            if part.contains('⟨') {
                expected.push_str(MASK);
            }
        }
        assert_eq!(masked(&plain), expected, "{plain}");
    }
}

fn none_masked(lines: &str) {
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        assert_eq!(masked(line), line);
    }
}

/// DEV-M03
#[test]
fn e_mail_addresses_are_masked() {
    all_masked(
        r#"
        write to ⟨ann@example.com⟩.
        ⟨Ann.Lee+news@mail.example.co.uk⟩, ⟨b_2@x.de⟩; <⟨c-d@example.museum⟩>
        邮箱是⟨zhang.san@example.com⟩请联系
        ⟨jürgen@müller.de⟩ und ⟨ann@bücher.example⟩
        mailto:⟨ann@example.com⟩?subject=x
        ?email=⟨ann%40example.com⟩&x=1
        {"to":"⟨ann@example.com⟩","cc":["⟨bob@example.org⟩"]}
        {"text":"Hello\n⟨ann@example.com⟩\tbye"}
        From: ⟨ann@example.com⟩: she said
        ⟨13800138000@qq.com⟩
        "#,
    );
}

#[test]
fn what_only_looks_like_an_address_is_not_masked() {
    none_masked(
        r"
        git@github.com:team/project.git and scp x user@host.example.com:/var/www
        https://user@host.example.com/path
        icon@2x.png, lodash@4.17.21, lodash@4.17.21-beta.rc, actions/checkout@v4.1.2, @angular/core@12.0.0-next.1
        @media (min-width: 1px) and @example.com and a@b and x@@y.zz
        image@sha256:9f86d081884c7d659a2feaa0c55ad015
        c = a@b.transpose()
        me at example dot com
        ",
    );
}

/// DEV-M03
#[test]
fn telephone_numbers_of_several_countries_are_masked() {
    all_masked(
        r#"
        call ⟨+1 415-555-2671⟩ or ⟨+14155552671⟩ now
        ⟨+86 138 1234 5678⟩, ⟨+8613812345678⟩, ⟨+86-10-8888 6666⟩
        ⟨+49 30 1234567⟩, ⟨+49 (0)151 23456789⟩, ⟨+4915112345678⟩
        ⟨+44 20 7946 0958⟩ ⟨+33 6 12 34 56 78⟩ ⟨+81 3-1234-5678⟩ ⟨+91 98765 43210⟩ ⟨+55 11 98765-4321⟩
        ⟨0049 30 1234567⟩ from abroad
        ⟨(415) 555-2671⟩, ⟨415-555-2671⟩, ⟨415.555.2671⟩, ⟨1-800-555-0199⟩
        手机⟨13812345678⟩，座机⟨010-12345678⟩
        张三 ⟨13812345678⟩ 北京
        ⟨138 1234 5678⟩ und ⟨0171/1234567⟩ und ⟨030 12345678⟩ und ⟨(030) 123456⟩
        ⟨03-1234-5678⟩ and ⟨090-1234-5678⟩
        Phone: ⟨4155552671⟩
        Tel.: ⟨(030) 78 95 47 78⟩, WhatsApp ⟨(61) 99256-3846⟩, Tel.⟨0863/91131⟩
        Tel. ⟨06 12 34 56 78⟩, Fax ⟨555-0199⟩
        {"phone":"⟨4155552671⟩","id":"4155552671"}
        {"userPhone":"⟨4155552671⟩","orderId":"13812345678"}
        {"text":"\n⟨13812345678⟩"}
        phones: ⟨4155552671⟩, ⟨4155552672⟩ / ⟨4155552673⟩
        ?tel=⟨%2B4915112345678⟩
        ⟨+49 30 1234567⟩ 2026-12-01
        "#,
    );
    assert_eq!(ALL.json(r#"{"phone":4155552671,"n":1}"#).as_str(), r#"{"phone":"[redacted]","n":1}"#);
}

/// DEV-M03
#[test]
fn identity_numbers_and_accounts_are_masked_when_their_check_digits_are_right() {
    all_masked(
        r#"
        身份证号⟨11010519491231002X⟩，
        pay to ⟨DE89 3704 0044 0532 0130 00⟩, ⟨DE89370400440532013000⟩
        ⟨GB29 NWBK 6016 1331 9268 19⟩ ⟨FR14 2004 1010 0505 0001 3M02 606⟩ ⟨NO93 8601 1117 947⟩
        {"iban":"⟨NL91ABNA0417164300⟩"}
        ⟨4111 1111 1111 1111⟩
        "#,
    );
    none_masked(
        "
        110105194912310021 and 110105194913310022
        DE89 3704 0044 0532 0130 01 and XX89370400440532013000
        4111 1111 1111 1112
        ",
    );
}

/// DEV-M03
#[test]
fn ordinary_numbers_come_out_as_they_went_in() {
    none_masked(
        r#"
        version 1.2.3, 10.15.7, 2024.11.3-4155, v4155552671
        2026-12-01T10:20:30+08:00, 01.12.2026, 12/01/2026 10:20, 2026/12/01, 20261201102030
        1733049600, 1733049600123, 1733049600123456
        Order 415-555-2671, order no. 13812345678, 订单号13812345678, #13812345678
        {"order_id":13812345678,"timestamp":13812345678,"sku":"0123-456789"}
        112-3456789-1234567 and ISBN 978-3-16-148410-0, 0-306-40615-2
        9042740c3ab1f0e1d2c3b4a5968778695a4b3c2d and 018f3a5b-7c1d-7e2f-8a9b-0c1d2e3f4a5b
        12345678-1234-4123-8123-123456789012
        $1,234,567.89, 1.234.567,89 €, 1 234 567,89, ¥13812345678.00
        192.168.100.200:8080, 255.255.255.255, 2001:db8::1, 00:1b:44:11:3a:b7
        48.137154, 11.576124 and -0.1278, 51.5074 and 0.13812345678
        +10 000 000 points, +1000000000, a+13812345678, 1e+13812345678
        @@ -1234567,7 +1234567,7 @@
        01234-5678, 94103-1234
        07 12 34 56 78 9a bc de f0
        https://example.com/p/13812345678?id=13812345678
        ticket 0711-123456
        3.14159265358979, 2718281828459046
        12345678901234567890, 00000000000000
        00000010: 4865 6c6c 6f20 576f 726c 6421
        <svg viewBox="0 0 50.062 37.479" d="c-.005 4.57.46 1.027 1.02z -.0098 1.7059-20.493 33.95 0.66 24.05 0.66">
        tableValues="0 0.49803921568627", e=d(a)+l[c]+2400959708&4294967295
        group.php?gid=14448723154&x=1, content="18343191100", menu-mobile-right.png?1487181507
        tell me what it says: '01010111 01101000 01100001', "57 68 61 74 20 69 73"
        <svg class="phone" viewBox="0 0 512 512"> "4986375253575060270"
        "gtin13":"4011905623016", /posts/2395361813834269
        pages 100-200, lines 1234-5678, 10-20-30
        "#,
    );
}

#[test]
fn only_the_wanted_kinds_are_masked() {
    let text = "ann@example.com, +49 30 1234567, 4111 1111 1111 1111, 11010519491231002X, DE89370400440532013000";
    let with = |kinds: &[Personal]| Redactor::default().personal(PersonalKinds::of(kinds)).text(text).masked();
    for kind in Personal::ALL {
        assert_eq!(with(&[kind]), 1, "{kind}");
    }
    assert_eq!((with(&[]), with(&Personal::ALL)), (0, 5));
    assert_eq!(Redactor::default().kinds(), PersonalKinds::of(&[Personal::Card]));
    assert_eq!(Redactor::default().also(PersonalKinds::of(&[Personal::Email])).text(text).masked(), 2);
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("ann@example.com".to_owned()),
        Just("@".to_owned()),
        Just("%40".to_owned()),
        Just("phone: ".to_owned()),
        Just("order ".to_owned()),
        Just("+49 30 1234567".to_owned()),
        Just("13812345678".to_owned()),
        Just("415-555-2671".to_owned()),
        Just("4155552671".to_owned()),
        Just("11010519491231002X".to_owned()),
        Just("DE89 3704 0044 0532 0130 00".to_owned()),
        Just("4111 1111 1111 1111".to_owned()),
        Just("password=hunter2".to_owned()),
        Just("[redacted]".to_owned()),
        Just("\\n".to_owned()),
        "[0-9 +()/.,-]{0,14}",
        "[a-z@.0-9:=\"\\\\ {}-]{0,10}",
        any::<String>(),
    ];
    proptest::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn masking_personal_data_twice_is_masking_it_once(text in pieces()) {
        let once = masked(&text);
        prop_assert_eq!(masked(&once), once);
    }

    #[test]
    fn json_with_personal_data_stays_json(text in pieces(), number in 0u64..u64::MAX) {
        let json = serde_json::json!({"phone": number, text.clone(): text, "l": [text, 13_812_345_678u64, number]}).to_string();
        for out in [ALL.json(&json), ALL.text(&json)] {
            prop_assert!(serde_json::from_str::<serde_json::Value>(out.as_str()).is_ok(), "{}", out.as_str());
        }
    }
}

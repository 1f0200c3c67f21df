use pretty_assertions::assert_eq;

use super::*;
use crate::types::{DurationMs, MicroUsd};

fn sources(file: &str, env: &[(&str, &str)], flags: &[(&str, &str)]) -> Sources {
    let pairs = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<Vec<_>>()
    };
    Sources {
        file: (!file.is_empty()).then(|| (PathBuf::from("/etc/ag/agcore.toml"), file.to_owned())),
        env: pairs(env).into_iter().collect(),
        flags: pairs(flags),
    }
}

fn fails(file: &str, env: &[(&str, &str)], flags: &[(&str, &str)]) -> String {
    Config::merge(sources(file, env, flags)).unwrap_err().to_string()
}

#[test]
fn without_anything_set_all_is_default() {
    let config = Config::merge(sources("", &[("HOME", "/home/ann")], &[])).unwrap();
    assert_eq!(config.limits, Limits::default());
    assert_eq!((config.principal.tenant.as_str(), config.principal.user.as_str()), ("local", "local"));
    assert_eq!(config.paths.state_dir, PathBuf::from("/home/ann/.local/state/agcore"));
    assert_eq!(config.model, ModelConfig::default());
    assert_eq!(config.warnings, Vec::<String>::new());
    let state =
        Config::merge(sources("", &[("HOME", "/h"), ("XDG_STATE_HOME", "/var/s")], &[])).unwrap().paths.state_dir;
    assert_eq!(state, PathBuf::from("/var/s/agcore"));
}

#[test]
fn the_command_line_wins_over_the_environment_and_that_over_the_file() {
    let file = "
[limits]
max_tool_iterations = 5
max_tool_calls_per_turn = 10
max_tool_cost_usd = 0.5
[principal]
scopes = [\"customer.read\", \"orders.read\"]
[catalog]
dirs = [\"more\", \"/srv/catalog\", \"~/catalog\"]
[model]
api_key = \"env:MY_KEY\"
";
    let env = [
        ("HOME", "/home/ann"),
        ("AGCORE_LIMITS_MAX_TOOL_ITERATIONS", "7"),
        ("AGCORE_LIMITS_MAX_TOOL_CALLS_PER_TURN", "11"),
    ];
    let flags = [("limits.max_tool_iterations", "8"), ("limits.tier", "long"), ("files.roots", "docs, ~/notes")];
    let config = Config::merge(sources(file, &env, &flags)).unwrap();
    assert_eq!(
        config.limits,
        Limits {
            max_tool_iterations: 8,
            max_tool_calls_per_turn: 11,
            max_tool_cost: MicroUsd::new(500_000),
            max_wall_time: DurationMs(300_000),
            ..Limits::default()
        }
    );
    let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
    assert_eq!(config.catalog.dirs, paths(&["/etc/ag/more", "/srv/catalog", "/home/ann/catalog"]));
    assert_eq!(config.files.roots, paths(&["docs", "/home/ann/notes"]));
    assert_eq!(config.model.api_key, Some(SecretRef::Env("MY_KEY".to_owned())));
    assert_eq!(config.principal.scopes.iter().map(Scope::as_str).collect::<Vec<_>>(), ["customer.read", "orders.read"]);

    let shown: Vec<String> = config.explain().iter().map(ToString::to_string).collect();
    for line in [
        "limits.max_tool_iterations = 8  # command line",
        "limits.max_tool_calls_per_turn = 11  # environment variable AGCORE_LIMITS_MAX_TOOL_CALLS_PER_TURN",
        "limits.max_tool_cost_usd = 0.5  # /etc/ag/agcore.toml:5",
        "limits.max_wall_time_ms = 300000  # command line",
        "limits.tier = \"long\"  # command line",
        "limits.tool_timeout_ms = 15000  # default",
        "model.api_key = \"env:MY_KEY\"  # /etc/ag/agcore.toml:11",
        "model.base_url = (not set)  # default",
        "principal.tenant = \"local\"  # default",
    ] {
        assert!(shown.iter().any(|shown| shown == line), "{line} in {shown:#?}");
    }
    assert_eq!(shown.len(), KEYS.len());
}

#[test]
fn an_unknown_key_is_refused_with_the_nearest_known_one() {
    for (file, message) in [
        (
            "[limits]\nmax_tool_iteration = 3",
            "/etc/ag/agcore.toml:2: there is no setting `limits.max_tool_iteration`; did you mean `limits.max_tool_iterations`?",
        ),
        ("[limit]\nx = 1", "/etc/ag/agcore.toml:1: there is no setting `limit`"),
        (
            "\nprovider = \"openai\"",
            "/etc/ag/agcore.toml:2: there is no setting `provider`; did you mean `model.provider`?",
        ),
        ("[model]\nzzz = 1", "/etc/ag/agcore.toml:2: there is no setting `model.zzz`"),
    ] {
        assert_eq!(fails(file, &[], &[]), message);
    }
    assert_eq!(
        fails("", &[], &[("model.modl", "x")]),
        "command line: there is no setting `model.modl`; did you mean `model.model`?"
    );
    let warned = Config::merge(sources("", &[("AGCORE_LIMIT_TIER", "long"), ("AGCORE_MY_OWN_KEY", "x")], &[])).unwrap();
    assert_eq!(
        warned.warnings,
        ["the environment variable AGCORE_LIMIT_TIER is no setting; did you mean AGCORE_LIMITS_TIER?"]
    );
}

#[test]
fn a_wrong_value_says_where_and_what_is_right() {
    for (file, message) in [
        (
            "[limits]\n\nmax_tool_iterations = \"6\"",
            "/etc/ag/agcore.toml:3: `limits.max_tool_iterations` must be a whole number, zero or more",
        ),
        (
            "[limits]\nmax_tool_iterations = 2000",
            "/etc/ag/agcore.toml:2: `limits.max_tool_iterations` is 2000 rounds, but only 1 to 1000 is allowed",
        ),
        (
            "[limits]\nmax_tool_iterations = 5000000000",
            "/etc/ag/agcore.toml:2: `limits.max_tool_iterations` has a wrong value: invalid value: integer `5000000000`, expected u32",
        ),
        (
            "[limits]\ntier = \"slow\"",
            "/etc/ag/agcore.toml:2: `limits.tier` has a wrong value: unknown variant `slow`, expected one of `quick`, `standard`, `long`",
        ),
        (
            "[model]\nbase_url = \"localhost:8080\"",
            "/etc/ag/agcore.toml:2: `model.base_url` has a wrong value: it must begin with `http://` or `https://` and name a host",
        ),
        (
            "[principal]\ntenant = \"\"",
            "/etc/ag/agcore.toml:2: `principal.tenant` has a wrong value: `` is no valid tenant id: it is empty",
        ),
        (
            "[limits]\nmax_tool_cost_usd = -1.0",
            "/etc/ag/agcore.toml:2: `limits.max_tool_cost_usd` has a wrong value: -1 is no amount of dollars",
        ),
    ] {
        assert_eq!(fails(file, &[], &[]), message);
    }
    assert_eq!(
        fails("", &[("AGCORE_LIMITS_REQUIRES_APPROVAL_FOR_WRITE", "maybe")], &[]),
        "environment variable AGCORE_LIMITS_REQUIRES_APPROVAL_FOR_WRITE: `limits.requires_approval_for_write` must be true or false"
    );
    let unusual = Config::merge(sources("[limits]\nmax_tool_iterations = 200", &[], &[])).unwrap();
    assert_eq!(unusual.warnings, ["`limits.max_tool_iterations` is 200 rounds; 3 to 8 is usual"]);
}

#[test]
fn a_secret_in_the_file_is_refused_and_never_shown() {
    for file in [
        "[model]\napi_key = \"sk-0123456789abcdef0123\"",
        "[model]\napi_key = sk-0123456789abcdef0123",
        "[model]\nbase_url = \"https://u:sk-0123456789abcdef0123@h/\"",
    ] {
        let error = Config::merge(sources(file, &[], &[])).unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("0123456789") && error.to_string().starts_with("/etc/ag/agcore.toml:2: "), "{shown}");
    }
}

#[test]
fn the_file_is_the_named_one_or_the_first_of_the_usual_ones() {
    let env: BTreeMap<String, String> = [("HOME".to_owned(), "/h".to_owned())].into();
    let user = PathBuf::from("/h/.config/agcore/config.toml");
    let find = |named: Option<&str>, env: &BTreeMap<String, String>, there: &[&str]| {
        merge::find_file(named.map(Path::new), env, |path| there.iter().any(|known| path == Path::new(known)))
    };
    assert_eq!(find(Some("x.toml"), &env, &[]), Some(PathBuf::from("x.toml")));
    assert_eq!(find(None, &env, &["agcore.toml", "/h/.config/agcore/config.toml"]), Some(PathBuf::from("agcore.toml")));
    assert_eq!(find(None, &env, &["/h/.config/agcore/config.toml"]), Some(user));
    assert_eq!(find(None, &env, &[]), None);
    let named = BTreeMap::from([("AGCORE_CONFIG".to_owned(), "/y.toml".to_owned())]);
    assert_eq!(find(None, &named, &["agcore.toml"]), Some(PathBuf::from("/y.toml")));
}

#[test]
fn every_key_has_its_place_in_the_configuration() {
    let config = Config::merge(sources(
        "[model]\nprovider = \"openai\"\nmodel = \"m\"\nbase_url = \"https://h\"\napi = \"chat\"\napi_key = \"file:/k\"\n[telemetry]\notlp_endpoint = \"http://h\"\n",
        &[],
        &[],
    ))
    .unwrap();
    let unset: Vec<_> =
        config.explain().into_iter().filter(|shown| shown.value.is_empty()).map(|shown| shown.key).collect();
    assert_eq!(unset, Vec::<&str>::new());
}

#[test]
fn personal_data_to_mask_is_a_list_of_known_kinds() {
    let read = |text: &str| Config::merge(sources(text, &[("HOME", "/home/ann")], &[]));
    assert_eq!(read("").unwrap().redaction, RedactionConfig::default());
    let config = read("[redaction]\nresults = [\"all\"]\nrecords = [\"email\", \"iban\"]\n").unwrap();
    let records = PersonalKinds::of(&[Personal::Email, Personal::Iban]);
    assert_eq!(config.redaction, RedactionConfig { results: PersonalKinds::ALL, records });
    assert_eq!(read("[redaction]\nresults = []\n").unwrap().redaction.results, PersonalKinds::NONE);
    let error = read("[redaction]\nresults = [\"name\"]\n").unwrap_err().to_string();
    assert!(error.contains("`name` is no kind of personal data"), "{error}");
}

//! What targets share, and what each has for itself.

use super::*;
use mainstay::layers::breaker::State;

fn stacks(routes: &str) -> Stacks {
    let text = format!(
        "[providers.a]\nkind = \"openai\"\nlimits = {{ concurrency = 8 }}\n[providers.b]\nkind = \"openai\"\n{routes}"
    );
    let config = Config::parse(&text, "mainstay.toml", &|_| None).unwrap_or_else(|error| panic!("{error}"));
    build(&config, Arc::new(())).unwrap()
}

fn target(stacks: &Stacks, model: &str, at: usize) -> Target {
    stacks.router.find(model).unwrap().fallback.targets()[at].clone()
}

const TWO: &str = "
[[routes]]
models = [\"m\"]
targets = [\"a\", { target = \"a/x\", limits = { concurrency = 2 }, breaker = { failures = 1 } }]
[[routes]]
models = [\"n\"]
[[routes.targets]]
target = \"a/x\"
limits.concurrency = 2
breaker.failures = 1
parameters.temperature = 0
[[routes.targets]]
target = \"b\"
breaker.failures = 9
";

#[tokio::test]
async fn routes_that_list_a_target_share_its_circuit_cooldown_pace_and_places() {
    let stacks = stacks(TWO);
    let (first, second) = (target(&stacks, "m", 1), target(&stacks, "n", 0));
    first.breaker().unwrap().try_enter().unwrap().failure(None);
    assert_eq!(second.breaker().unwrap().state(), State::Open, "after one failure, as it is set");
    assert!(first.places().unwrap().is_same(second.places().unwrap()));
    let states = stacks.targets.iter().find(|target| target.name().to_string() == "a/x").unwrap();
    assert_eq!(states.breaker().unwrap().state(), State::Open);
    for _ in 0..20 {
        first.pace().record(true, std::time::Duration::from_secs(3));
    }
    assert_eq!(second.pace().quantile(true, 0.5), states.pace().quantile(true, 0.5));
    assert!(second.pace().quantile(true, 0.5).is_some());
    assert_eq!(target(&stacks, "m", 0).breaker().unwrap().state(), State::Closed);
}

#[tokio::test]
async fn a_target_has_the_providers_places_or_its_own() {
    let stacks = stacks(TWO);
    let places = |model, at| target(&stacks, model, at).places().unwrap().clone();
    assert_eq!((places("m", 0).limit(), places("m", 1).limit()), (8, 2));
    assert!(places("m", 0).is_same(&places("a/anything", 0)));
    assert!(!places("n", 1).is_bounded());
}

#[tokio::test]
async fn calls_that_name_a_provider_meet_the_target_that_is_the_provider_alone() {
    let stacks = stacks(TWO);
    let direct = target(&stacks, "b/anything", 0);
    for _ in 0..8 {
        direct.breaker().unwrap().try_enter().unwrap().failure(None);
    }
    assert_eq!(direct.breaker().unwrap().state(), State::Closed);
    direct.breaker().unwrap().try_enter().unwrap().failure(None);
    assert_eq!(target(&stacks, "n", 1).breaker().unwrap().state(), State::Open);
}

#[tokio::test]
async fn an_adaptive_limit_is_one() {
    let route = "[[routes]]\nmodels = [\"m\"]\ntargets = [{ target = \"b\", limits = { adaptive = { floor = 2, ceiling = 5 } } }]\n";
    let places = target(&stacks(route), "m", 0).places().unwrap().clone();
    let adaptive = places.adaptive().unwrap();
    assert_eq!((places.limit(), adaptive.floor(), adaptive.ceiling()), (5, 2, 5));
}

#[tokio::test]
async fn keys_in_headers_of_the_configuration_are_known_and_other_words_are_not() {
    let text = "[providers.a]\nkind = \"openai\"\n[providers.a.headers]\nauthorization = \"Bearer one-0123456789\"\nx-gateway-key = \"two-0123456789\"\nx-environment = \"production\"\n";
    let config = Config::parse(text, "mainstay.toml", &|_| None).unwrap_or_else(|error| panic!("{error}"));
    let redactor = build(&config, Arc::new(())).unwrap().redactor;
    let said = redactor.text("one-0123456789, Bearer one-0123456789, two-0123456789: not in production");
    assert_eq!(said, "[redacted], [redacted], [redacted]: not in production");
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_says_nothing_makes_room_after_the_time_that_is_set() {
    let stacks = stacks(
        "[[routes]]\nmodels = [\"m\"]\n[[routes.targets]]\ntarget = \"a\"\n\
         breaker = { failures = 1, open_for = \"1s\", probes = 1, probe_deadline = \"5s\" }\n",
    );
    let circuit = target(&stacks, "m", 0).breaker().unwrap().clone();
    let after = |seconds| tokio::time::advance(std::time::Duration::from_secs(seconds));
    circuit.try_enter().unwrap().failure(None);
    after(1).await;
    let hangs = circuit.try_enter().unwrap();
    after(4).await;
    assert!(circuit.try_enter().is_err(), "its place is still its own");
    after(1).await;
    circuit.try_enter().unwrap().success();
    assert_eq!(circuit.state(), State::Closed);
    drop(hangs);
}

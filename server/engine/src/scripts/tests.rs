//! Tests of loading and removing libraries, against a model that knows only names.

use super::*;
use lockwheel_resp::{Protocol, Reply, Writer};
use lockwheel_scripting::Host;
use proptest::prelude::*;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// A host that answers nothing and whose clock stands still.
struct Nobody;

impl Host for Nobody {
    fn call(&mut self, _: &[&[u8]], reply: &mut dyn Reply) {
        reply.null();
    }

    fn log(&mut self, _: u8, _: &[u8]) {}

    fn clock_us(&self) -> u64 {
        0
    }

    fn answered_error(&mut self, _: &[u8], _: bool, _: u64) {}

    fn may_run(&mut self, _: &[&[u8]]) -> Option<bool> {
        None
    }
}

const LIBRARIES: [&str; 3] = ["a", "b", "c"];
const FUNCTIONS: [&str; 4] = ["f", "F", "g", "h"];

/// A library: its number, and one bit for each of its functions.
type Text = (usize, u8);

/// The functions of each library.
type Model = BTreeMap<&'static str, BTreeSet<&'static str>>;

#[derive(Clone, Debug)]
enum Step {
    Load(Text, bool),
    Delete(usize),
    Restore(Vec<Text>, u8),
    Flush,
}

fn functions(bits: u8) -> BTreeSet<&'static str> {
    FUNCTIONS.into_iter().enumerate().filter(|(n, _)| bits >> n & 1 == 1).map(|(_, name)| name).collect()
}

fn code((library, bits): Text) -> Vec<u8> {
    let name = LIBRARIES[library];
    let register =
        |function| format!("redis.register_function('{function}', function() return '{name}' end)\n");
    let functions: String = functions(bits).into_iter().map(register).collect();
    format!("#!lua name={name}\n{functions}").into_bytes()
}

/// Whether functions of two libraries have the same name.
fn collide(model: &Model) -> bool {
    let mut owners = BTreeMap::new();
    model.iter().any(|(library, functions)| {
        functions.iter().any(|function| *owners.entry(function.to_lowercase()).or_insert(library) != library)
    })
}

/// Returns the model after the step. `None` if the step is refused.
fn after(model: &Model, step: &Step) -> Option<Model> {
    let mut next = model.clone();
    match step {
        Step::Load((library, bits), replace) => {
            let old = next.insert(LIBRARIES[*library], functions(*bits));
            if *bits == 0 || old.is_some() && !replace {
                return None;
            }
        }
        Step::Delete(library) => drop(next.remove(LIBRARIES[*library])?),
        Step::Restore(texts, policy) => {
            let mut restored = Model::new();
            for (library, bits) in texts {
                let old = restored.insert(LIBRARIES[*library], functions(*bits));
                if *bits == 0 || old.is_some() {
                    return None;
                }
            }
            let taken = restored.keys().any(|name| next.contains_key(name));
            if collide(&restored) || *policy == 0 && taken {
                return None;
            }
            if *policy == 1 {
                next.clear();
            }
            next.extend(restored);
        }
        Step::Flush => next.clear(),
    }
    (!collide(&next)).then_some(next)
}

fn run(scripts: &mut Scripts, step: &Step) -> bool {
    match step {
        Step::Load(text, replace) => scripts.load(&code(*text), *replace, &mut Nobody).is_ok(),
        Step::Delete(library) => scripts.delete(LIBRARIES[*library].as_bytes()).is_ok(),
        Step::Restore(texts, policy) => {
            let policy =
                [RestorePolicy::Append, RestorePolicy::Flush, RestorePolicy::Replace][usize::from(*policy)];
            let codes = texts.iter().map(|text| Ok(Cow::Owned(code(*text))));
            scripts.restore(codes, policy, &mut Nobody).is_ok()
        }
        Step::Flush => scripts.flush_libraries().is_ok(),
    }
}

/// Calls the function. Returns its answer, the name of its library.
fn call(scripts: &mut Scripts, name: &str) -> Option<String> {
    let id = scripts.libraries().find(name.as_bytes())?.id;
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, Protocol::Resp2);
    scripts.idle().unwrap().begin(id, 0).run(&[], &[], &mut Nobody, &mut writer);
    let text = String::from_utf8(bytes).unwrap();
    Some(text.trim_start_matches("$1\r\n").trim_end().to_owned())
}

fn step() -> impl Strategy<Value = Step> {
    let text = || (0..LIBRARIES.len(), 0_u8..1 << FUNCTIONS.len());
    prop_oneof![
        4 => (text(), any::<bool>()).prop_map(|(text, replace)| Step::Load(text, replace)),
        1 => (0..LIBRARIES.len()).prop_map(Step::Delete),
        3 => (prop::collection::vec(text(), 0..3), 0_u8..3).prop_map(|(texts, policy)| Step::Restore(texts, policy)),
        1 => Just(Step::Flush),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn libraries_change_as_a_whole_or_not_at_all(steps in prop::collection::vec(step(), 1..25)) {
        let mut scripts = Scripts::new(&Config::default(), 7);
        let mut model = Model::new();
        for step in &steps {
            let next = after(&model, step);
            prop_assert_eq!(run(&mut scripts, step), next.is_some(), "{:?}", step);
            model = next.unwrap_or(model);
            let name = |library: &super::Library| String::from_utf8_lossy(&library.name).into_owned();
            let listed: Vec<_> = scripts.libraries().iter().map(name).collect();
            prop_assert_eq!(listed, model.keys().copied().collect::<Vec<_>>());
            prop_assert_eq!(scripts.libraries().function_count(), model.values().map(BTreeSet::len).sum::<usize>());
            for name in FUNCTIONS {
                let has = |all: &BTreeSet<_>| all.iter().any(|other: &&str| other.eq_ignore_ascii_case(name));
                let owner = model.iter().find(|(_, functions)| has(functions));
                prop_assert_eq!(call(&mut scripts, name), owner.map(|(library, _)| (*library).to_owned()), "{}", name);
            }
        }
        scripts.flush_libraries().unwrap();
        prop_assert_eq!((scripts.libraries().bytes(), scripts.libraries().len()), (0, 0));
    }
}

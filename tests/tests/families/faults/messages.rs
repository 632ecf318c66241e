//! LOSEPUBLISH.

use super::Scene;

const MESSAGE: &str = "*3 $7 message $1 c $5 hello";

fn listener(scene: &mut Scene, channel: &str) -> u64 {
    let client = scene.client();
    scene.server.ask(client, &format!("SUBSCRIBE {channel}"));
    client
}

#[test]
fn a_lost_message_reaches_no_subscriber() {
    let mut scene = Scene::new();
    let [client, pattern] = [scene.client(), scene.client()];
    let listener = listener(&mut scene, "c");
    scene.server.ask(pattern, "PSUBSCRIBE *");
    scene.add("lost ON publish CHANNEL c DO LOSEPUBLISH");
    scene.check(client, "PUBLISH c hello", ":2");
    scene.check(client, "EVAL \"return redis.call('publish', 'c', 'hello')\" 0", ":2");
    scene.check(client, "MULTI", "+OK");
    scene.check(client, "PUBLISH c hello", "+QUEUED");
    scene.check(client, "EXEC", "*1 :2");
    assert_eq!((scene.read(listener), scene.read(pattern)), Default::default());
    assert_eq!(scene.field("lost", "hits"), ":3");
    scene.check(client, "PUBLISH d hello", ":1");
    assert!(scene.read(pattern).contains("hello"));
}

#[test]
fn a_rule_on_a_script_applies_to_its_publications() {
    let mut scene = Scene::new();
    let client = scene.client();
    let listener = listener(&mut scene, "c");
    scene.add("lost CONTAINS unlock CHANNEL c DO LOSEPUBLISH");
    scene.check(client, "EVAL \"--[[unlock]] return redis.call('publish', 'c', 'hello')\" 0", ":1");
    assert_eq!(scene.read(listener), "");
    scene.check(client, "EVAL \"return redis.call('publish', 'c', 'hello')\" 0", ":1");
    assert_eq!(scene.read(listener), MESSAGE);
    let loaded = scene.ask(client, "SCRIPT LOAD \"--[[unlock]] redis.call('publish', 'c', 'hello')\"");
    let sha = loaded.split(' ').next_back().expect("it has a name").to_owned();
    scene.check(client, &format!("EVALSHA {sha} 0"), "$-1");
    assert_eq!(scene.read(listener), "");
}

#[test]
fn only_the_named_subscribers_lose_a_message() {
    let mut scene = Scene::new();
    let client = scene.client();
    let [one, other] = [listener(&mut scene, "c"), listener(&mut scene, "c")];
    scene.add(&format!("lost ON publish CLIENT {one} TIMES 2 DO LOSEPUBLISH"));
    scene.check(client, "PUBLISH c hello", ":2");
    assert_eq!((scene.read(one), scene.read(other)), (String::new(), MESSAGE.into()));
    scene.check(client, "PUBLISH d hello", ":0");
    assert_eq!(scene.field("lost", "hits"), ":1");
}

#[test]
fn a_message_of_a_native_unlock_or_an_advance_can_be_lost() {
    let mut scene = Scene::new();
    let client = scene.client();
    let channel = "redisson_lock__channel:{lock}";
    let listener = listener(&mut scene, channel);
    let messages = |scene: &mut Scene| {
        assert!(scene.ask(client, "LOCK.ACQUIRE lock a PX 1000").contains("token"));
        assert!(!scene.ask(client, "LOCK.RELEASE lock a").starts_with('-'));
        assert!(scene.ask(client, "LOCK.ACQUIRE lock a PX 1000").contains("token"));
        scene.advance(1000);
        scene.read(listener).matches("$7 message").count()
    };
    assert_eq!(messages(&mut scene), 2);
    scene.add("lost CHANNEL redisson_lock__channel:* DO LOSEPUBLISH");
    assert_eq!(messages(&mut scene), 0);
    assert_eq!(scene.field("lost", "hits"), ":2");
}

#[test]
fn a_message_of_an_exempt_client_is_not_lost() {
    let mut scene = Scene::new();
    let client = scene.client();
    let listener = listener(&mut scene, "c");
    scene.add("lost DO LOSEPUBLISH");
    scene.check(client, "FAULT.EXEMPT", "+OK");
    scene.check(client, "PUBLISH c hello", ":1");
    assert_eq!(scene.read(listener), MESSAGE);
    scene.check(client, "EVAL \"return redis.call('publish', 'c', 'hello')\" 0", ":1");
    assert_eq!(scene.read(listener), MESSAGE);
    scene.check(client, "FAULT.EXEMPT OFF", "+OK");
    scene.check(client, "PUBLISH c hello", ":1");
    assert_eq!(scene.read(listener), "");
}

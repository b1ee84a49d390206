use std::ffi::OsString;

use git2::Oid;

use super::Scratch;
use crate::model::{BaseRule, Origin, Side, Sides};
use crate::settings::table::Table;
use crate::workspace::Request;
use crate::workspace::git::base::VARIABLES;
use crate::workspace::git::{Absence, Error};

/// BASE on the command line.
fn on(base: &str) -> Request {
    Request { flags: naming(base), ..Request::default() }
}

/// A table with this BASE.
fn naming(base: &str) -> Table {
    Table { base: Some(base.into()), ..Table::default() }
}

/// In the environment of a CI job whose target branch has this name.
fn targeting(variable: &str, name: &str) -> (OsString, OsString) {
    (variable.into(), name.into())
}

fn resolve(scratch: &Scratch, request: &Request) -> Result<Sides, Error> {
    scratch.open().resolve(request, None)
}

/// The base commit, the rule, and whether the head is it.
fn found(scratch: &Scratch, request: &Request) -> (Oid, BaseRule, bool) {
    let sides = resolve(scratch, request).unwrap();
    (Oid::from_str(&sides.base.commit).unwrap(), sides.rule, sides.head_is_base)
}

/// `main` at the second commit of three, `topic` two commits further on from the first; HEAD is
/// `topic`.
fn fork() -> (Scratch, Vec<Oid>, Oid) {
    let scratch = Scratch::new();
    let main = scratch.chain(3);
    let one = scratch.commit("one", &main[..1]);
    let topic = scratch.commit("topic", &[one]);
    scratch.point("refs/heads/main", main[1]);
    scratch.point("refs/heads/topic", topic);
    scratch.git.set_head("refs/heads/topic").unwrap();
    (scratch, main, topic)
}

#[test]
fn the_base_is_where_the_two_parted_or_base_itself_or_the_head_itself() {
    let (scratch, main, topic) = fork();
    assert_eq!(found(&scratch, &on("main")), (main[0], BaseRule::MergeBase, false));
    let exact = Request { exact_base: true, ..on("main") };
    assert_eq!(found(&scratch, &exact), (main[1], BaseRule::Exact, false));
    assert_eq!(
        found(&scratch, &Request { aa: true, ..on("main") }),
        (topic, BaseRule::Itself, false)
    );
    let sides = resolve(&scratch, &Request { dirty: true, ..on("main") }).unwrap();
    assert_eq!((sides.base.rev.as_str(), sides.head.rev.as_str()), ("main", "topic"));
    assert_eq!((sides.base.dirty, sides.head.dirty), (false, true));
    assert_eq!(sides.of(Side::Base), &sides.base);
    assert_eq!(sides.of(Side::Head), &sides.head);
    assert_eq!(sides.head.tree, scratch.revision(topic).tree);
    assert!(!sides.base_is_guessed);
    // The branch is one commit after its parent, which lies on main: no merge, so no first parent.
    let near = scratch.commit("near", &main[1..2]);
    let request = Request { head: Some(near.to_string()), ..on("main") };
    assert_eq!(found(&scratch, &request), (main[1], BaseRule::MergeBase, false));
}

#[test]
fn a_head_on_base_is_its_own_base_unless_another_is_named_for_that_case() {
    let (scratch, main, _) = fork();
    scratch.git.set_head("refs/heads/main").unwrap();
    scratch.point("refs/heads/ahead", main[2]);
    for base in ["main", "ahead"] {
        assert_eq!(found(&scratch, &on(base)), (main[1], BaseRule::MergeBase, true));
    }
    let first = main[0].to_string();
    let request = Request { fallback_base: Some(first.clone()), ..on("main") };
    assert_eq!(found(&scratch, &request), (main[0], BaseRule::MergeBase, false));
    assert_eq!(resolve(&scratch, &request).unwrap().base.rev, first);
    // It is asked once: where it is the head, too, that is the answer.
    let request = Request { fallback_base: Some("ahead".into()), ..on("main") };
    assert_eq!(found(&scratch, &request), (main[1], BaseRule::MergeBase, true));
    // Where the head does not lie on BASE it has no say.
    scratch.git.set_head("refs/heads/topic").unwrap();
    let request = Request { fallback_base: Some("ahead".into()), ..on("main") };
    assert_eq!(found(&scratch, &request), (main[0], BaseRule::MergeBase, false));
    assert_eq!(resolve(&scratch, &request).unwrap().base.rev, "main");
}

#[test]
fn a_merge_onto_base_is_compared_with_its_first_parent() {
    let (scratch, main, topic) = fork();
    let merged = |parents: &[Oid]| {
        let commit = scratch.commit("merge", parents);
        let request = Request { head: Some(commit.to_string()), ..on("main") };
        found(&scratch, &request)
    };
    assert_eq!(merged(&[main[1], topic]), (main[1], BaseRule::FirstParent, false));
    // main went on since: still what it was merged onto, although main's tip is nearer.
    assert_eq!(merged(&[main[0], topic]), (main[0], BaseRule::FirstParent, false));
    assert_eq!(merged(&[main[1], topic, main[0]]), (main[1], BaseRule::FirstParent, false));
    // The branch took main in: its first parent is its own work.
    assert_eq!(merged(&[topic, main[1]]), (main[1], BaseRule::MergeBase, false));
}

#[test]
fn of_two_merge_bases_one_is_taken() {
    let scratch = Scratch::new();
    let root = scratch.commit("root", &[]);
    let (a, b) = (scratch.commit("a", &[root]), scratch.commit("b", &[root]));
    let (x, y) = (scratch.commit("x", &[a, b]), scratch.commit("y", &[b, a]));
    let x = scratch.commit("x on", &[x]);
    let y = scratch.commit("y on", &[y]);
    scratch.point("refs/heads/main", x);
    let request = Request { head: Some(y.to_string()), ..on("main") };
    let (base, rule, _) = found(&scratch, &request);
    assert!([a, b].contains(&base), "{base} of {a} and {b}");
    assert_eq!(rule, BaseRule::MergeBase);
}

#[test]
fn the_name_is_the_argument_then_the_configuration_then_the_variable_then_a_usual_one() {
    let (scratch, main, _) = fork();
    for name in ["argument", "configured", "variable", "other", "master"] {
        scratch.point(&format!("refs/heads/{name}"), main[2]);
    }
    let resolve = |request: &Request, table: Option<&Table>| {
        let sides = scratch.open().resolve(request, table).unwrap();
        (sides.base.rev, sides.origin)
    };
    let names = |request: &Request| resolve(request, None);
    let env = vec![targeting(VARIABLES[0], "variable"), targeting(VARIABLES[1], "other")];
    let mut request = Request { env, ..on("argument") };
    let table = naming("configured");
    assert_eq!(resolve(&request, Some(&table)), ("argument".into(), Origin::Argument));
    request.flags.base = None;
    assert_eq!(resolve(&request, Some(&table)), ("configured".into(), Origin::Configuration));
    assert_eq!(names(&request), ("variable".into(), Origin::Variable(VARIABLES[0])));
    request.env[0].1.clear();
    assert_eq!(names(&request).0, "other");
    request.env.clear();
    assert_eq!(names(&request), ("main".into(), Origin::Usual));
    scratch.git.find_reference("refs/heads/main").unwrap().delete().unwrap();
    assert_eq!(names(&request), ("master".into(), Origin::Usual));
    scratch.point("refs/remotes/origin/trunk", main[2]);
    let head = "refs/remotes/origin/HEAD";
    scratch.git.reference_symbolic(head, "refs/remotes/origin/trunk", true, "").unwrap();
    assert_eq!(names(&request), ("origin/HEAD".into(), Origin::Usual));
}

#[test]
fn a_name_that_leads_nowhere_says_where_it_came_from() {
    let (scratch, ..) = fork();
    let error = |request: &Request| resolve(&scratch, request).unwrap_err().to_string();
    assert_eq!(error(&on("lost")), "unknown revision `lost`");
    let configured = scratch.open().resolve(&Request::default(), Some(&naming("lost")));
    let configured = configured.unwrap_err().to_string();
    assert_eq!(configured, "unknown revision `lost` (from the configuration)");
    let env = vec![targeting(VARIABLES[1], "lost")];
    let variable = Request { env, ..Request::default() };
    assert_eq!(error(&variable), format!("unknown revision `lost` (from {})", VARIABLES[1]));
    let empty = resolve(&scratch, &on("")).unwrap_err();
    assert!(empty.hint().unwrap().starts_with("the name is empty, as from a variable"));
    let head = Request { head: Some("lost".into()), ..on("main") };
    assert_eq!(error(&head), "unknown revision `lost`");
    scratch.git.find_reference("refs/heads/main").unwrap().delete().unwrap();
    let usual = error(&Request::default());
    assert_eq!(usual, "no base given, and none of `origin/HEAD`, `main`, `master` exists");
}

#[test]
fn a_merge_that_ci_made_for_a_branch_which_is_not_here_is_taken_on_trust() {
    let (scratch, main, topic) = fork();
    let merge = scratch.commit("merge", &[main[2], topic]);
    let env = vec![targeting(VARIABLES[0], "gone")];
    let request = Request { env, head: Some(merge.to_string()), ..Request::default() };
    let sides = resolve(&scratch, &request).unwrap();
    assert_eq!(sides.base.commit, main[2].to_string());
    assert_eq!((sides.base.rev.as_str(), sides.rule), ("gone", BaseRule::FirstParent));
    assert_eq!(sides.origin, Origin::Variable(VARIABLES[0]));
    assert!(sides.base_is_guessed && !sides.head_is_base);
    // Also where it is named besides.
    let named = Request { flags: naming("gone"), ..request.clone() };
    assert!(resolve(&scratch, &named).unwrap().base_is_guessed);
    // Not for another name, not for BASE itself, and of no commit that is no merge.
    let nowhere = |request: &Request| {
        let error = resolve(&scratch, request).unwrap_err();
        assert!(matches!(error, Error::Unknown { .. }), "{error}");
    };
    nowhere(&Request { flags: naming("other"), ..request.clone() });
    nowhere(&Request { exact_base: true, ..request.clone() });
    for plain in [topic, main[0]] {
        nowhere(&Request { head: Some(plain.to_string()), ..request.clone() });
    }
}

#[test]
fn a_name_is_a_branch_then_one_of_origin_then_what_git_knows() {
    let (scratch, main, topic) = fork();
    let at = |name: &str| scratch.open().at(Some(name)).map(|found| found.commit);
    scratch.point("refs/tags/name", main[0]);
    assert_eq!(at("name").unwrap(), main[0].to_string());
    scratch.point("refs/remotes/origin/name", main[1]);
    assert_eq!(at("name").unwrap(), main[1].to_string());
    scratch.point("refs/heads/name", main[2]);
    assert_eq!(at("name").unwrap(), main[2].to_string());
    // So is where an ancestor's name starts.
    assert_eq!(at("name~1").unwrap(), main[1].to_string());
    scratch.point("refs/remotes/origin/far", main[2]);
    assert_eq!(at("far~2").unwrap(), main[0].to_string());
    let error = at("far^{tree}").unwrap_err().to_string();
    assert_eq!(error, "`far^{tree}` is not a commit, but a tree");
    // `HEAD` is this clone's, whatever branches are called.
    scratch.point("refs/remotes/origin/HEAD", main[0]);
    assert_eq!(at("HEAD").unwrap(), topic.to_string());
    assert_eq!(
        at("topic~1").unwrap(),
        scratch.git.find_commit(topic).unwrap().parent_id(0).unwrap().to_string()
    );
    let blob = scratch.git.blob(b"no commit").unwrap().to_string();
    let error = at(&blob).unwrap_err();
    assert_eq!(error.to_string(), format!("`{blob}` is not a commit, but a blob"));
    assert_eq!(error.hint().as_deref(), Some("name a branch, a tag or a commit"));
    let tree = scratch.git.find_commit(main[0]).unwrap().tree().unwrap();
    let who = git2::Signature::now("A", "a@localhost").unwrap();
    scratch.git.tag("of-a-tree", tree.as_object(), &who, "annotated", true).unwrap();
    let error = at("of-a-tree").unwrap_err();
    assert_eq!(error.to_string(), "`of-a-tree` is not a commit, but a tree");
    let name =
        |similar: Option<&str>| Absence::Name { similar: similar.map(str::to_owned), remote: None };
    let absence = |name: &str| match at(name) {
        Err(Error::Unknown { absence, .. }) => absence,
        other => panic!("{other:?}"),
    };
    assert_eq!(absence("nothing"), name(None));
    assert_eq!(absence("mian"), name(Some("main")));
    assert_eq!(absence("mian~1"), name(Some("main")));
    let ancestor = |start: &str| Absence::Ancestor { start: start.into(), shallow: false };
    assert_eq!(absence("topic~9"), ancestor("topic"));
    assert_eq!(absence("HEAD^2"), ancestor("HEAD"));
    assert!(matches!(at("name with spaces..and more"), Err(Error::Unknown { .. })));
}

#[test]
fn without_a_name_it_is_head_by_the_name_of_its_branch() {
    let (scratch, main, topic) = fork();
    let at = || scratch.open().at(None).map(|found| (found.rev, found.commit));
    assert_eq!(at().unwrap(), ("topic".into(), topic.to_string()));
    scratch.git.set_head_detached(main[0]).unwrap();
    assert_eq!(at().unwrap(), ("HEAD".into(), main[0].to_string()));
    let empty = Scratch::new();
    let error = empty.open().at(None).unwrap_err();
    assert_eq!(error.to_string(), "HEAD has no commits yet");
    assert!(matches!(empty.open().at(Some("HEAD")), Err(Error::Unknown { .. })));
    // A branch whose commit is not there has one all the same.
    scratch.git.set_head("refs/heads/topic").unwrap();
    scratch.lose(topic);
    let error = at().unwrap_err();
    assert!(matches!(error, Error::Git { .. }), "{error}");
}

#[test]
fn histories_that_do_not_meet_are_unrelated_or_cut_off() {
    let (scratch, main, topic) = fork();
    let alone = scratch.commit("alone", &[]);
    scratch.point("refs/heads/alone", alone);
    let error = resolve(&scratch, &on("alone")).unwrap_err();
    assert_eq!(error.to_string(), "`alone` and `topic` have no common ancestor");
    let one = scratch.git.find_commit(topic).unwrap().parent_id(0).unwrap();
    scratch.cut(&[main[1], one]);
    let error = resolve(&scratch, &on("main")).unwrap_err();
    assert!(
        matches!(&error, Error::Shallow { base, head } if (base.as_str(), head.as_str()) == ("main", "topic")),
        "{error}"
    );
    let unknown = resolve(&scratch, &on("lost")).unwrap_err();
    assert!(matches!(unknown, Error::Unknown { absence: Absence::Shallow, .. }), "{unknown}");
    let unknown = resolve(&scratch, &on("topic~4")).unwrap_err();
    let Error::Unknown { absence, .. } = unknown else { panic!("{unknown}") };
    assert_eq!(absence, Absence::Ancestor { start: "topic".into(), shallow: true });
}

#[test]
fn a_history_with_a_hole_is_an_error_and_not_an_answer() {
    let (scratch, main, topic) = fork();
    scratch.lose(main[0]);
    let error = resolve(&scratch, &on("main")).unwrap_err();
    assert!(matches!(error, Error::Git { .. }), "{error}");
    let repo = scratch.open();
    assert!(repo.is_on(main[1], topic).is_err());
    // In a shallow clone a hole is where it was cut off.
    std::fs::write(scratch.git.path().join("shallow"), format!("{}\n", main[2])).unwrap();
    assert!(!scratch.open().is_on(main[1], topic).unwrap());
    assert!(scratch.open().is_on(topic, topic).unwrap());
}

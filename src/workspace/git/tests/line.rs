use git2::Oid;

use super::Scratch;
use crate::workspace::git::line;
use crate::workspace::git::line::{Commit, Node, Parents};

fn ids(commits: &[Commit]) -> Vec<String> {
    commits.iter().map(|commit| commit.id.clone()).collect()
}

fn hex(ids: impl IntoIterator<Item = Oid>) -> Vec<String> {
    ids.into_iter().map(|id| id.to_string()).collect()
}

/// Five commits on a line; between the second and the fourth a branch of two besides, merged by
/// the fifth. The branch's commits are older than all others, by their times.
fn merged() -> (Scratch, Vec<Oid>, [Oid; 2], Oid) {
    let scratch = Scratch::new();
    let line = scratch.chain(4);
    scratch.set_clock(1_000);
    let one = scratch.commit("one", &line[1..2]);
    let two = scratch.commit("two", &[one]);
    scratch.set_clock(1_800_000_000);
    let merge = scratch.commit("merge\n\nof two", &[line[3], two]);
    (scratch, line, [one, two], merge)
}

#[test]
fn a_line_is_that_of_the_first_parents_newest_first() {
    let (scratch, line, _, merge) = merged();
    let repo = scratch.open();
    let merge = merge.to_string();
    let of = |limit| ids(&line::commits(&repo, &merge, limit, Parents::First).unwrap());
    let all = hex([merge.parse().unwrap(), line[3], line[2], line[1], line[0]]);
    assert_eq!(of(100), all);
    assert_eq!(of(5), all);
    assert_eq!(of(2), all[..2]);
    assert_eq!(of(0), [""; 0]);
    let described = &line::commits(&repo, &merge, 1, Parents::First).unwrap()[0];
    let expected = Commit {
        id: merge.clone(),
        summary: "merge".into(),
        author: "A".into(),
        time: 1_800_000_000,
    };
    assert_eq!(*described, expected);
    assert_eq!(line::parent(&repo, &merge).unwrap(), Some(line[3].to_string()));
    assert_eq!(line::parent(&repo, &line[0].to_string()).unwrap(), None);
    assert!(line::commits(&repo, "no commit", 1, Parents::First).is_err());
}

#[test]
fn with_all_parents_no_commit_comes_before_its_children_whatever_the_times_say() {
    let (scratch, line, side, merge) = merged();
    let repo = scratch.open();
    let all = ids(&line::commits(&repo, &merge.to_string(), 100, Parents::All).unwrap());
    let mut expected = hex(line.iter().copied().chain(side).chain([merge]));
    let place = |id: Oid| all.iter().position(|other| *other == id.to_string()).unwrap();
    for (child, parent) in [
        (merge, line[3]),
        (merge, side[1]),
        (side[1], side[0]),
        (side[0], line[1]),
        (line[1], line[0]),
    ] {
        assert!(place(child) < place(parent), "{all:?}");
    }
    let mut sorted = all.clone();
    sorted.sort();
    expected.sort();
    assert_eq!(sorted, expected);
    assert_eq!(ids(&line::commits(&repo, &merge.to_string(), 3, Parents::All).unwrap()), all[..3]);
}

/// The places of a node's commit and of its parents, by their messages.
fn shape(nodes: &[Node]) -> Vec<(&str, Vec<usize>)> {
    nodes.iter().map(|node| (node.commit.summary.as_str(), node.parents.clone())).collect()
}

#[test]
fn between_two_lie_those_after_the_one_up_to_the_other() {
    let (scratch, line, _, merge) = merged();
    let repo = scratch.open();
    let (good, bad) = (line[1].to_string(), merge.to_string());
    let first = line::between(&repo, &good, &bad, Parents::First).unwrap();
    assert_eq!(shape(&first), [("2", vec![]), ("3", vec![0]), ("merge", vec![1])]);
    let all = line::between(&repo, &good, &bad, Parents::All).unwrap();
    let place = |summary: &str| all.iter().position(|node| node.commit.summary == summary).unwrap();
    assert_eq!(all.len(), 5);
    assert_eq!(all[place("one")].parents, [0; 0]);
    assert_eq!(all[place("two")].parents, [place("one")]);
    assert_eq!(all[place("3")].parents, [place("2")]);
    assert_eq!(all[place("merge")].parents, [place("3"), place("two")]);
    assert_eq!(place("merge"), 4);
    assert!(place("one") < place("two") && place("2") < place("3"));
}

#[test]
fn what_does_not_lead_there_is_an_error() {
    let (scratch, line, side, merge) = merged();
    let repo = scratch.open();
    let error = |good: Oid, bad: Oid, parents| {
        line::between(&repo, &good.to_string(), &bad.to_string(), parents).unwrap_err()
    };
    for parents in [Parents::First, Parents::All] {
        let same = error(merge, merge, parents);
        let short = &merge.to_string()[..10];
        assert_eq!(same.to_string(), format!("`{short}` and `{short}` are the same commit"));
        for (good, bad) in [(merge, line[0]), (line[3], side[1])] {
            let error = error(good, bad, parents);
            assert!(error.hint().unwrap().starts_with("the good commit comes first"), "{error}");
        }
    }
    let off = error(side[1], merge, Parents::First);
    assert!(off.to_string().starts_with("the first parents of"), "{off}");
    let through = line::between(&repo, &side[1].to_string(), &merge.to_string(), Parents::All);
    assert_eq!(shape(&through.unwrap()).last().unwrap().0, "merge");
}

#[test]
fn a_shallow_clones_line_ends_where_it_was_cut_off() {
    let (scratch, line, _, merge) = merged();
    assert!(!line::is_shallow(&scratch.open()));
    scratch.cut(&[line[2]]);
    let repo = scratch.open();
    assert!(line::is_shallow(&repo));
    let found = line::commits(&repo, &merge.to_string(), 100, Parents::First).unwrap();
    assert_eq!(ids(&found), hex([merge, line[3], line[2]]));
    assert_eq!(line::parent(&repo, &line[2].to_string()).unwrap(), None);
    assert_eq!(line::parent(&repo, &line[3].to_string()).unwrap(), Some(line[2].to_string()));
    let error = line::between(&repo, &line[0].to_string(), &line[2].to_string(), Parents::First);
    let hint = error.unwrap_err().hint().unwrap();
    assert!(hint.starts_with("this is a shallow clone"), "{hint}");
}

#[test]
fn with_all_parents_it_ends_there_too() {
    let scratch = Scratch::new();
    let line = scratch.chain(5);
    scratch.cut(&[line[2]]);
    let repo = scratch.open();
    let found = line::commits(&repo, &line[4].to_string(), 100, Parents::All).unwrap();
    assert_eq!(ids(&found), hex([line[4], line[3], line[2]]));
    let between =
        line::between(&repo, &line[2].to_string(), &line[4].to_string(), Parents::All).unwrap();
    assert_eq!(shape(&between), [("3", vec![]), ("4", vec![0])]);
}

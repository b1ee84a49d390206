//! Which two commits are compared.

use crate::support::{Cbdr, Repo, git};

#[test]
fn head_is_this_clones_and_not_the_remotes() {
    let repo = Repo::new("steady");
    let clone = repo.around().join("clone");
    git(&repo.around(), &["clone", "--quiet", "repo", "clone"]);
    git(&clone, &["checkout", "--quiet", "-b", "feature"]);
    git(&clone, &["commit", "--quiet", "--allow-empty", "--message", "mine"]);
    let object = Cbdr::new(&clone, &repo.cache())
        .args(["compare", "main", "--format", "json"])
        .run()
        .code(0)
        .json();
    assert_eq!(object["head"]["commit"], git(&clone, &["rev-parse", "HEAD"]));
    assert_eq!(object["verdict"], "identical");
}

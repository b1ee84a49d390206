//! A change as a patch that `git apply` takes.

/// Lines around a change.
const CONTEXT: usize = 3;

/// The one change from `before` to `after` of the file `name`; nothing of equal
/// ones.
pub(super) fn patch(name: &str, before: Option<&str>, after: &str) -> String {
    let old: Vec<&str> = before.unwrap_or_default().split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| {
        pairs.take_while(|(old, new)| old == new).count()
    };
    let front = same(&mut old.iter().zip(&new));
    if front == old.len() && front == new.len() {
        return String::new();
    }
    let back = same(&mut old[front..].iter().rev().zip(new[front..].iter().rev()));
    let from = front.saturating_sub(CONTEXT);
    let (old_to, new_to) = (old.len() - back, new.len() - back);
    let behind = back.min(CONTEXT);
    let range = |length: usize| match length {
        0 => "0,0".to_owned(),
        length => format!("{},{length}", from + 1),
    };
    let [old_range, new_range] = [old_to, new_to].map(|to| range(to + behind - from));
    let source = before.map_or("/dev/null".to_owned(), |_| format!("a/{name}"));
    let mut patch = format!("diff --git a/{name} b/{name}\n");
    if before.is_none() {
        let mode = if after.starts_with("#!") { "100755" } else { "100644" };
        patch.push_str(&format!("new file mode {mode}\n"));
    }
    patch.push_str(&format!("--- {source}\n+++ b/{name}\n@@ -{old_range} +{new_range} @@\n"));
    let mut push = |sign: char, lines: &[&str]| {
        for line in lines {
            patch.push(sign);
            patch.push_str(line);
            if !line.ends_with('\n') {
                patch.push_str("\n\\ No newline at end of file\n");
            }
        }
    };
    push(' ', &old[from..front]);
    push('-', &old[front..old_to]);
    push('+', &new[front..new_to]);
    push(' ', &old[old_to..old_to + behind]);
    patch
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_insertion_has_its_surroundings() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n";
        let after = before.replace("5\n", "5\nnew\n");
        assert_eq!(
            patch("f", Some(before), &after),
            "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -3,6 +3,7 @@\n 3\n 4\n 5\n+new\n 6\n 7\n 8\n"
        );
        assert_eq!(patch("f", Some(before), before), "");
    }

    #[test]
    fn a_new_file_and_a_last_line_without_an_end() {
        assert_eq!(
            patch("d/f", None, "#!x\n"),
            "diff --git a/d/f b/d/f\nnew file mode 100755\n--- /dev/null\n+++ b/d/f\n\
             @@ -0,0 +1,1 @@\n+#!x\n"
        );
        assert_eq!(
            patch("f", Some("a"), "a\nb\n"),
            "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,1 +1,2 @@\n-a\n\
             \\ No newline at end of file\n+a\n+b\n"
        );
    }
}

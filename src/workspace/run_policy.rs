//! The runner and the variables that cargo's configuration sets for runs are not what is
//! measured but how: with them, a branch could change the numbers. So both sides use those of
//! the side whose policy holds.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::context::PrepareContext;
use super::setup::sides::SideSetup;
use crate::error::Error;
use crate::exec::program::Program;
use crate::exec::system::{from_git, replace_bytes};
use crate::model::{Pair, RunnerDiffers, Side};
use crate::workspace::inputs::configuration::Configuration;

/// Runs both programs of a benchmark as one side's configuration says, and adds to
/// `differing` what that changes.
pub(super) fn share(
    context: &PrepareContext<'_>,
    setups: &Pair<&SideSetup>,
    programs: Pair<&mut Program>,
    differing: &mut RunnerDiffers,
) -> Result<(), Error> {
    let mut variables = BTreeSet::new();
    for side in Side::BOTH {
        let (folder, configs) = (&*programs[side].command.cwd, &setups[side].configs);
        variables.extend(Configuration::read([folder], configs, &context.tools.env)?.variables);
    }
    let runners = programs.as_ref().map(|program| runner(program).to_vec());
    let Pair { base, head } = programs;
    let (model, other) = match differing.from {
        Side::Base => (base, head),
        Side::Head => (head, base),
    };
    let (from, to) = (model.home.clone(), other.home.clone());
    let at_other = |text: &OsStr| {
        let mut bytes = text.as_encoded_bytes().to_vec();
        let [from, to] = [&from, &to].map(|path| path.as_os_str().as_encoded_bytes());
        replace_bytes(&mut bytes, from, to);
        from_git(&bytes).into_os_string()
    };
    let (wanted, own) = (&runners[differing.from], &runners[differing.from.other()]);
    let tree = &setups[differing.from].worktree.path;
    let is_edited = |word: &OsString| {
        let path = model.command.cwd.join(word).canonicalize().unwrap_or_default();
        let inside = path.strip_prefix(tree);
        inside
            .is_ok_and(|inside| context.moves.changed.iter().any(|path| Path::new(path) == inside))
    };
    let is_same = wanted.iter().map(|word| at_other(word)).eq(own.iter().cloned());
    if !is_same || wanted.iter().any(is_edited) {
        other.command.argv.splice(..own.len(), wanted.iter().cloned());
        let shown = |words: &Vec<OsString>| {
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            words.join(" ")
        };
        let trees = setups.as_ref().map(|setup| format!("{}/", setup.worktree.path.display()));
        let shown = Pair::both(|side| shown(&runners[side]).replace(&trees[side], ""));
        differing.runner.get_or_insert(shown);
    }
    for name in variables {
        let value = model.command.var(&name).map(OsStr::to_owned);
        let wanted = value.as_deref().map(at_other);
        if wanted.as_deref() == other.command.var(&name) {
            continue;
        }
        // In the environment of both, it stands at the same place.
        for (program, value) in [(&mut *model, value), (&mut *other, wanted)] {
            program.command.env.retain(|(key, _)| *key != *name);
            program.command.env.extend(value.map(|value| (OsString::from(&name), value)));
        }
        differing.variables.insert(name);
    }
    Ok(())
}

/// The words before the executable of a program that cargo built.
fn runner(program: &Program) -> &[OsString] {
    let executable = program.executable.as_ref().map(|path| path.as_os_str());
    let words = &program.command.argv;
    let end = words.iter().position(|word| Some(&**word) == executable).unwrap_or_default();
    &words[..end]
}

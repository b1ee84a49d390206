# Completes `cargo cbdr` and `cargo-cbdr` in bash.

_cargo_cbdr() {
    local at=$COMP_CWORD number words=()
    # bash takes `--flag=value` apart.
    for number in "${!COMP_WORDS[@]}"; do
        if [[ ${COMP_WORDS[number]} == = ]]; then
            ((number < COMP_CWORD)) && at=$((at - 1))
            ((number == COMP_CWORD)) && words+=("")
        else
            words+=("${COMP_WORDS[number]}")
        fi
    done
    if [[ ${words[0]##*/} == cargo ]]; then
        words=("${words[@]:1}")
        at=$((at - 1))
    fi
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("${line%%$'\t'*}")
    done < <(cargo-cbdr __complete "$at" "${words[@]}" 2> /dev/null)
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == */ ]]; then
        compopt -o nospace 2> /dev/null
    fi
}

_cargo_cbdr_in_cargo() {
    if ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[1]} == cbdr ]]; then
        _cargo_cbdr
        return
    fi
    COMPREPLY=()
    if [[ -n ${_cargo_cbdr_others-} ]]; then
        "$_cargo_cbdr_others" "$@"
    fi
    if ((COMP_CWORD == 1)) && [[ cbdr == "${COMP_WORDS[1]}"* ]]; then
        COMPREPLY+=(cbdr)
    fi
}

# What completes cargo's own words, if anything does.
if ! complete -p cargo > /dev/null 2>&1; then
    _comp_load cargo 2> /dev/null || _completion_loader cargo 2> /dev/null || true
fi
if [[ $(complete -p cargo 2> /dev/null) =~ -F\ ([^ ]+) && ${BASH_REMATCH[1]} != _cargo_cbdr_in_cargo && ${BASH_REMATCH[1]} != _minimal && ${BASH_REMATCH[1]} != _comp_complete_minimal ]]; then
    _cargo_cbdr_others=${BASH_REMATCH[1]}
fi
complete -o bashdefault -o default -F _cargo_cbdr cargo-cbdr
complete -o bashdefault -o default -F _cargo_cbdr_in_cargo cargo

#compdef cargo-cbdr
# Completes `cargo cbdr` and `cargo-cbdr` in zsh.

# The name is the one by which cargo's own completion asks for those of a subcommand.
_cargo-cbdr() {
    local line value
    local -a lines found
    lines=("${(@f)$(cargo-cbdr __complete $((CURRENT - 1)) "${(@)words}" 2> /dev/null)}")
    for line in $lines; do
        value=${${line%%$'\t'*}//:/\\:}
        if [[ $line == *$'\t'* ]]; then
            found+=("$value:${line#*$'\t'}")
        else
            found+=("$value")
        fi
    done
    (( $#found )) && _describe -V 'cargo cbdr' found
}

_cargo_cbdr_in_cargo() {
    if (( CURRENT > 2 )) && [[ $words[2] == cbdr ]]; then
        shift words
        (( CURRENT-- ))
        _cargo-cbdr
    elif [[ -n $_cargo_cbdr_others ]]; then
        $_cargo_cbdr_others "$@"
    elif (( CURRENT == 2 )); then
        compadd cbdr
    else
        _default
    fi
}

if [[ $funcstack[1] == _cargo-cbdr ]]; then
    _cargo-cbdr "$@"
else
    # What completes cargo's own words, if anything does.
    if [[ ${_comps[cargo]-} != _cargo_cbdr_in_cargo ]]; then
        typeset -g _cargo_cbdr_others=${_comps[cargo]-}
    fi
    compdef _cargo-cbdr cargo-cbdr
    compdef _cargo_cbdr_in_cargo cargo
fi

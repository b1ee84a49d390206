# Completes `cargo cbdr` and `cargo-cbdr` in fish.

function __cargo_cbdr
    set -l words (commandline -opc)
    if test (basename -- $words[1]) = cargo
        set -e words[1]
    end
    cargo-cbdr __complete (count $words) $words (commandline -ct) 2>/dev/null
end

function __cargo_cbdr_in_cargo
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test $words[2] = cbdr
end

complete -c cargo-cbdr -f -a '(__cargo_cbdr)'
complete -c cargo -n __cargo_cbdr_in_cargo -f -a '(__cargo_cbdr)'
complete -c cargo -n 'test (count (commandline -opc)) -eq 1' -f -a cbdr -d 'Compare the speed of this branch with its base'
